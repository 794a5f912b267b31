/** Fixtures of tests of pages with sdk.js in one browser. */

import { test } from 'vitest'
import { endWith, perFile } from '../lifetime.ts'
import { type EngineName, startEngine } from './engines.ts'
import { startSdkSite } from './sdk-site.ts'
import { type Tab, withOneVisitor } from './tab.ts'

export const TAG = '<script src="/monitoring/sdk.js" crossorigin></script>'

/**
 * Returns `it` of a browser. The tests of a file share the site and the browser; each has a visitor with a tab of its own. With `share`, they
 * are one visitor to WebKit, which starts a browser for each visitor.
 */
export function sdkTestIn(name: EngineName, share?: 'share') {
  const start = async () => {
    const engine = await startEngine(name)
    return share && name === 'webkit' ? withOneVisitor(engine) : engine
  }
  return (
    test
      // biome-ignore lint/correctness/noEmptyPattern: vitest reads the names of other fixtures from the pattern
      .extend('site', perFile, async ({}, lifetime) => endWith(lifetime, await startSdkSite()))
      // biome-ignore lint/correctness/noEmptyPattern: as above
      .extend('engine', perFile, async ({}, lifetime) => endWith(lifetime, await start()))
      .extend('visitor', async ({ engine }, lifetime) => endWith(lifetime, await engine.visitor()))
      .extend('tab', ({ visitor }) => visitor.newTab())
  )
}

/** Opens a page, and waits until its SDK is there. */
export async function openWithSdk(tab: Tab, url: string): Promise<void> {
  await tab.open(url)
  await tab.waitFor('window.Sentry?.getClient')
}
