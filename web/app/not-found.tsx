/** Page for an unknown address. */

import type { Metadata } from 'next'
import { ReachTest } from '../features/visitor-privacy.tsx'
import { ButtonLink } from '../ui/button.tsx'
import { Shell } from '../ui/page-shell.tsx'

export const metadata: Metadata = { title: 'Not found' }

export default function NotFound() {
  return (
    <Shell>
      <p className="eyebrow">404</p>
      <h1 className="mt-2 text-hero">This page could not be found.</h1>
      <p className="mt-5 max-w-2xl text-lead text-quiet">
        There is no page at this address. It may have moved, or the link may be wrong.
      </p>
      <p className="mt-8">
        <ButtonLink href="/">Go to the start page</ButtonLink>
      </p>
      <ReachTest />
    </Shell>
  )
}
