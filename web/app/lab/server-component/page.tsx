/** Page whose server component fails on purpose. */

import { headers } from 'next/headers'
import { notFound } from 'next/navigation'
import { type Asked, labError, rejectionOf } from '../../../features/lab/access.ts'
import { AccessDenied } from '../../../features/lab/access-denied.tsx'

export default async function Failing({ searchParams }: { searchParams: Promise<Asked> }) {
  const asked = await searchParams
  const rejection = rejectionOf(asked, await headers())
  if (rejection === 'off') notFound()
  if (rejection) return <AccessDenied why={rejection} />
  throw labError('in a server component', asked.reference)
}
