/** The page in place of one that broke. */
'use client'

import { captureException } from '@sentry/nextjs'
import { useEffect, useSyncExternalStore } from 'react'
import { ApplicationError } from '../ui/application-error.tsx'
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
        <link rel="icon" href="/icon.svg" />
        <ApplicationError side={digest === undefined ? 'client' : 'server'} host={host} digest={digest} />
      </body>
    </html>
  )
}

/** What Next gives an error of the server to be found by in its logs. */
function digestOf(error: unknown): string | undefined {
  const digest = error instanceof Error && 'digest' in error ? error.digest : undefined
  return typeof digest === 'string' ? digest : undefined
}

/** The page's host; there is none yet where Next tries this page out at build time. */
function useHost(): string {
  return useSyncExternalStore(
    () => () => {},
    () => location.host,
    () => 'this site',
  )
}
