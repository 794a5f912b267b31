/** State of the Sentry SDK in a page of web. */

import type { Page } from 'playwright-core'
import { expect } from 'vitest'

type Client = { getIntegrationByName(name: string): unknown }
type SdkWindow = {
  __SENTRY__?: Record<string, { defaultCurrentScope?: { getClient(): Client | undefined } }>
}

/** Resolves when the SDK of the page has started. */
export function waitForSdk(page: Page): Promise<void> {
  return expect.poll(() => page.evaluate(hasIntegration, 'GlobalHandlers')).toBe(true)
}

/** Resolves when the page is traced: the code for it is loaded later than the page. */
export function waitForTracing(page: Page): Promise<void> {
  return expect.poll(() => page.evaluate(hasIntegration, 'BrowserTracing')).toBe(true)
}

function hasIntegration(name: string): boolean {
  return Object.values((window as SdkWindow).__SENTRY__ ?? {}).some(
    ({ defaultCurrentScope }) => defaultCurrentScope?.getClient()?.getIntegrationByName(name) !== undefined,
  )
}
