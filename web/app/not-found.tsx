/** The page for an address that leads nowhere. */

import type { Metadata } from 'next'

export const metadata: Metadata = { title: 'Not found' }

export default function NotFound() {
  return (
    <main>
      <p className="brand">Culvert</p>
      <h1>This page could not be found.</h1>
      <p className="lead">Nothing is at this address. It may have moved, or the link may be wrong.</p>
      <p className="buttons">
        <a className="button" href="/">
          Go to the start page
        </a>
      </p>
    </main>
  )
}
