/** Fixtures of browser tests: a site of plain processes with a Sentry behind it, and visitors in Chromium. */

import { it as base } from '../fixtures.ts'
import { endWith, perFile } from '../lifetime.ts'
import { readCertificate, type SentryOptions } from '../sentry/sentry.ts'
import { startWeb } from '../web/web.ts'
import { type ChromiumOptions, shareChromium, startChromium } from './chromium.ts'
import { startConsole } from './console.ts'

/** The tests of a file share them, except for the visitor: every test has its own. A file changes the options by `it.extend`. */
export const it = base
  .extend('sentryOptions', perFile, (): SentryOptions => ({ tls: readCertificate() }))
  .extend('webEnv', perFile, (): Record<string, string> => ({}))
  /** Without tunnels. */
  .extend('web', perFile, async ({ webEnv }, lifetime) => endWith(lifetime, await startWeb(webEnv)))
  .extend('chromiumOptions', perFile, (): ChromiumOptions => ({}))
  .extend('chromium', perFile, async ({ chromiumOptions }, lifetime) =>
    Object.keys(chromiumOptions).length === 0
      ? shareChromium()
      : endWith(lifetime, await startChromium(chromiumOptions)),
  )
  .extend('visitor', async ({ chromium }, lifetime) => endWith(lifetime, await chromium.visitor()))
  .extend('replicas', perFile, () => 1)
  .extend('consoleSettings', perFile, (): Record<string, string> => ({}))
  /** Operator's console of a site. */
  .extend('consoleSite', perFile, async ({ chromium, replicas, consoleSettings: settings }, lifetime) =>
    endWith(lifetime, await startConsole(chromium, { replicas, settings })),
  )
