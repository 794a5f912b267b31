/** Page shown instead of one that failed. */
'use client'

import { useEffect, useState, useSyncExternalStore } from 'react'
import { browserSdk } from '../lib/sentry/late-sdk/browser-sdk.ts'
import { ApplicationError } from '../ui/application-error.tsx'
import icon from '../ui/icon.svg'
import './global.css'

export default function GlobalError({ error }: { error: unknown }) {
  const [eventId, setEventId] = useState<string>()
  useEffect(() => void browserSdk.captureException(error).then(setEventId), [error])
  const host = useHost()
  const digest = digestOf(error)

  return (
    <html lang="en">
      <body>
        <title>Application error</title>
        <link rel="icon" href={icon.src} />
        {digest === undefined ? (
          <ApplicationError side="client" host={host} eventId={eventId} />
        ) : (
          <ApplicationError side="server" host={host} digest={digest} />
        )}
      </body>
    </html>
  )
}

/** Returns the digest by which the server's log names an error. */
function digestOf(error: unknown): string | undefined {
  const digest = error instanceof Error && 'digest' in error ? error.digest : undefined
  return typeof digest === 'string' ? digest : undefined
}

/** Returns the host of the page; at build time there is none yet. */
function useHost(): string {
  return useSyncExternalStore(
    () => () => {},
    () => location.host,
    () => 'this site',
  )
}
