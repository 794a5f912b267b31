/** Fixtures of tests on a tunnel in the test's process, each with its own Sentry. */

import { test } from 'vitest'
import { type SentryOptions, startSentry } from '../sentry/sentry.ts'
import { openTunnel } from './in-process.ts'

/** Each fixture starts when a test names it, and stops at its end. `it.override` changes options for a `describe`. */
export const it = test
  .extend('sentryOptions', (): SentryOptions => ({}))
  .extend('sentry', async ({ sentryOptions }, { onCleanup }) => {
    const sentry = await startSentry(sentryOptions)
    onCleanup(sentry.close)
    return sentry
  })
  /** Settings in addition to `SENTRY_DSN`. */
  .extend('settings', (): Record<string, string> => ({}))
  .extend('tunnel', async ({ sentry, settings }, { onCleanup }) => {
    const tunnel = await openTunnel({ env: { SENTRY_DSN: sentry.dsn(), ...settings } })
    onCleanup(tunnel.stop)
    return tunnel
  })
