/** A page whose server component fails on purpose. */

import { headers } from 'next/headers'
import { notFound } from 'next/navigation'
import { type Asked, labError, refusalOf } from '../../../features/lab/access.ts'
import { Refused } from '../../../features/lab/access-denied.tsx'

export default async function Failing({ searchParams }: { searchParams: Promise<Asked> }) {
  const asked = await searchParams
  const refusal = refusalOf(asked, await headers())
  if (refusal === 'off') notFound()
  if (refusal) return <Refused why={refusal} />
  throw labError('in a server component', asked.reference)
}
