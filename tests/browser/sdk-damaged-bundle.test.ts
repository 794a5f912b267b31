/** Pages whose bundle of sdk.js was damaged on its way into the cache of the browser, in each browser. */

import { describe, expect } from 'vitest'
import { ENGINES, requiresEngine } from '../support/browser/engines.ts'
import { startSdkSite } from '../support/browser/sdk-site.ts'
import { openWithSdk, sdkTestIn, TAG } from '../support/browser/sdk-test.ts'
import { endWith, perFile } from '../support/lifetime.ts'

type Damage = (content: Buffer) => Buffer

const DAMAGES: [string, Damage][] = [
  ['altered', (content) => Buffer.concat([Buffer.from('window.isChanged = true;'), content])],
  ['truncated', (content) => content.subarray(0, content.length / 2)],
]

for (const name of ENGINES) {
  /** Damages of the next responses. */
  const damages: Damage[] = []
  let requests = 0
  const it = sdkTestIn(name).extend(
    'site',
    perFile,
    // biome-ignore lint/correctness/noEmptyPattern: vitest reads the names of other fixtures from the pattern
    async ({}, lifetime) =>
      endWith(
        lifetime,
        await startSdkSite({}, (path, content) => {
          if (!path.includes('/sdk/errors-')) return content
          requests++
          return damages.shift()?.(content) ?? content
        }),
      ),
  )

  describe(`A page with sdk.js in ${name}`, requiresEngine(name), () => {
    it.for(DAMAGES)(
      'replaces a bundle in the cache of the browser that was %s',
      async ([title, damage], { site, tab }) => {
        damages.push(damage)
        requests = 0
        await openWithSdk(tab, site.publish(`${TAG}<script>Sentry.captureMessage('${title}')</script>`))
        await site.event(title)
        expect(await tab.evaluate('window.isChanged ?? null')).toBe(null)
        await openWithSdk(tab, site.publish(TAG))
        if (name !== 'webkit') expect(requests).toBe(2) // WebKit asks the server again in any case
      },
    )
  })
}
