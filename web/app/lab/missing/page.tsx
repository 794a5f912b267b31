/** Page that calls `notFound()`. */

import { headers } from 'next/headers'
import { notFound } from 'next/navigation'
import { type Asked, refusalOf } from '../../../features/lab/access.ts'
import { Refused } from '../../../features/lab/access-denied.tsx'

export default async function Missing({ searchParams }: { searchParams: Promise<Asked> }) {
  const asked = await searchParams
  const refusal = refusalOf(asked, await headers())
  if (refusal === 'off') notFound()
  if (refusal) return <Refused why={refusal} />
  notFound()
}
