/** Page that calls `redirect()`, which Next.js implements by throwing an error. */

import { headers } from 'next/headers'
import { notFound, redirect } from 'next/navigation'
import { type Asked, rejectionOf } from '../../../features/lab/access.ts'
import { AccessDenied } from '../../../features/lab/access-denied.tsx'

export default async function Redirecting({ searchParams }: { searchParams: Promise<Asked> }) {
  const asked = await searchParams
  const rejection = rejectionOf(asked, await headers())
  if (rejection === 'off') notFound()
  if (rejection) return <AccessDenied why={rejection} />
  redirect('/lab?redirected')
}
