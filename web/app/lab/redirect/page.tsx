/** Page that calls `redirect()`, which Next.js implements by throwing an error. */

import { headers } from 'next/headers'
import { notFound, redirect } from 'next/navigation'
import { type Asked, refusalOf } from '../../../features/lab/access.ts'
import { Refused } from '../../../features/lab/access-denied.tsx'

export default async function Redirecting({ searchParams }: { searchParams: Promise<Asked> }) {
  const asked = await searchParams
  const refusal = refusalOf(asked, await headers())
  if (refusal === 'off') notFound()
  if (refusal) return <Refused why={refusal} />
  redirect('/lab?redirected')
}
