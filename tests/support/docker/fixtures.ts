/** Fixtures of stack tests: the containers of the shipped compose file, and a Sentry that they can reach. */

import { it as base } from '../fixtures.ts'
import { endWith, perFile } from '../lifetime.ts'
import type { SentryOptions } from '../sentry/sentry.ts'
import { BRIDGE, type ComposeOptions, startCompose } from './compose.ts'

/** The tests of a file share them. A file changes the options by `it.extend`. */
export const it = base
  .extend('sentryOptions', perFile, (): SentryOptions => ({ host: BRIDGE }))
  .extend('composeOptions', perFile, (): ComposeOptions => ({}))
  .extend('stack', perFile, async ({ composeOptions }, lifetime) =>
    endWith(lifetime, await startCompose(composeOptions)),
  )
