/** The page in place of one that broke. */
'use client'

import { captureException } from '@sentry/nextjs'
import { useEffect, useSyncExternalStore } from 'react'
import './global.css'

export default function GlobalError({ error }: { error: unknown }) {
  useEffect(() => {
    captureException(error)
  }, [error])
  const host = useHost()
  const digest = digestOf(error)

  return (
    <html lang="en">
      <body>
        <title>Application error</title>
        <main>
          <p className="brand">Culvert</p>
          <h1 className="message">{message(host, digest !== undefined)}</h1>
          {digest && <p className="note">Digest: {digest}</p>}
          <p className="buttons">
            <button type="button" onClick={() => location.reload()}>
              Reload
            </button>
            <a className="button second" href="/">
              Go to the start page
            </a>
          </p>
        </main>
      </body>
    </html>
  )
}

function message(host: string, fromServer: boolean): string {
  return fromServer
    ? `Application error: a server-side exception has occurred while loading ${host} (see the server logs for more information).`
    : `Application error: a client-side exception has occurred while loading ${host} (see the browser console for more information).`
}

/** What Next gives an error of the server to be found by in its logs. */
function digestOf(error: unknown): string | undefined {
  const digest = error instanceof Error && 'digest' in error ? error.digest : undefined
  return typeof digest === 'string' ? digest : undefined
}

/** The page's host. Next makes one such page at build time, when there is none yet. */
function useHost(): string {
  return useSyncExternalStore(
    () => () => {},
    () => location.host,
    () => 'this site',
  )
}
