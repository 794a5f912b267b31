/** Fixtures of browser tests: a site of plain processes with a Sentry behind it, and visitors in Chromium. */

import { test } from 'vitest'
import { readCertificate, type SentryOptions, startSentry } from '../sentry/sentry.ts'
import { cloud, type SiteOptions, startSite } from '../site.ts'
import { type ChromiumOptions, startChromium } from './chromium.ts'
import { startConsole } from './console.ts'

const perFile = { scope: 'file' } as const

/**
 * Each fixture starts when a test of the file first names it, and stops after the last one; every test has its own visitor. A file changes
 * the options by `it.override`.
 */
export const it = test
  .extend('sentryOptions', perFile, (): SentryOptions => ({ tls: readCertificate() }))
  .extend('sentry', perFile, async ({ sentryOptions }, { onCleanup }) => {
    const sentry = await startSentry(sentryOptions)
    onCleanup(sentry.close)
    return sentry
  })
  .extend('siteOptions', perFile, ({ sentry }): SiteOptions => cloud(sentry))
  .extend('site', perFile, async ({ siteOptions }, { onCleanup }) => {
    const site = await startSite(siteOptions)
    onCleanup(site.close)
    return site
  })
  .extend('chromiumOptions', perFile, (): ChromiumOptions => ({}))
  .extend('chromium', perFile, async ({ chromiumOptions }, { onCleanup }) => {
    const chromium = await startChromium(chromiumOptions)
    onCleanup(chromium.close)
    return chromium
  })
  .extend('visitor', async ({ chromium }, { onCleanup }) => {
    const visitor = await chromium.visitor()
    onCleanup(() => visitor[Symbol.asyncDispose]())
    return visitor
  })
  /** Operator's console of a site with three tunnels. */
  .extend('desk', perFile, async ({ chromium }, { onCleanup }) => {
    const desk = await startConsole(chromium)
    onCleanup(() => desk[Symbol.asyncDispose]())
    return desk
  })
