/** State of the Sentry SDK in a page of web. */

import type { Page } from 'playwright-core'
import { expect } from 'vitest'

type Client = {
  getIntegrationByName(name: string): { flush?(): Promise<void> } | undefined
  flush(): Promise<boolean>
}
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

/** Returns whether the SDK records the page. It sends no replay of less than 5 s. */
export function isRecorded(page: Page): Promise<boolean> {
  return page.evaluate(hasIntegration, 'Replay')
}

/** Makes the page send what its SDK still holds, as when the visitor leaves: the span of the page load, and a replay of 5 s or more. */
export async function flushSdk(page: Page): Promise<void> {
  await page.evaluate(async () => {
    Object.defineProperty(document, 'visibilityState', { value: 'hidden' })
    document.dispatchEvent(new Event('visibilitychange'))
    for (const { defaultCurrentScope } of Object.values((window as SdkWindow).__SENTRY__ ?? {})) {
      const client = defaultCurrentScope?.getClient()
      await client?.getIntegrationByName('Replay')?.flush?.()
      await client?.flush()
    }
  })
}

function hasIntegration(name: string): boolean {
  return Object.values((window as SdkWindow).__SENTRY__ ?? {}).some(
    ({ defaultCurrentScope }) => defaultCurrentScope?.getClient()?.getIntegrationByName(name) !== undefined,
  )
}
