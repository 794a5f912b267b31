/** Reports of visitors whose browser sends `Sec-GPC`, for each value of `PRIVACY_SIGNAL`. */

import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Chromium, shareChromium } from '../support/browser/chromium.ts'
import { flushSdk, isRecorded } from '../support/browser/web-sdk.ts'
import { startUpstream } from '../support/recording-server.ts'
import { requires } from '../support/requirements.ts'
import { parseEnvelope } from '../support/sentry/received-request.ts'
import { BREAKABLE, startWeb } from '../support/web/web.ts'

const EVERYTHING = {
  NODE_OPTIONS: BREAKABLE,
  SENTRY_TRACES_SAMPLE_RATE: '1',
  SENTRY_REPLAYS_ON_ERROR_SAMPLE_RATE: '1',
}
const ASKS = { 'sec-gpc': '1' }

/** Returns the item types of each envelope, marked where the visitor asked for privacy. */
function kindsIn(bodies: (Buffer | null)[]): string[] {
  const items = bodies.flatMap((body) => (body ? parseEnvelope(body).items : []))
  return items.map(({ header, payload }) => {
    const isMarked = header.type === 'event' && JSON.parse(String(payload)).tags?.gpc === true
    return `${header.type}${isMarked ? ' of one who asked' : ''}`
  })
}

describe('For a visitor with Sec-GPC', requires('chromium'), () => {
  let chromium: Chromium
  beforeAll(async () => {
    chromium = await shareChromium()
  })

  it.each([
    ['off', ['event', 'transaction'], [], 'Nothing is reported about you'],
    [
      'errors',
      ['event', 'event of one who asked', 'transaction'],
      ['event of one who asked'],
      'Only errors are reported',
    ],
    [
      'mark',
      ['event', 'event of one who asked', 'transaction', 'transaction'],
      ['event of one who asked', 'replay_event', 'span'],
      'Everything is reported as usual',
    ],
  ])(
    'with PRIVACY_SIGNAL=%s the server reports, beside those of another visitor, the items %j, the browser reports %j, and the page says: %s',
    async (PRIVACY_SIGNAL, ofServer, ofBrowser, says) => {
      await using tunnel = await startUpstream('tunnel')
      await using web = await startWeb({
        ...EVERYTHING,
        PRIVACY_SIGNAL,
        TUNNEL_ORIGIN: `http://${tunnel.address}`,
      })
      for (const headers of [ASKS, {}]) await (await fetch(`${web.url}/?break`, { headers })).text()
      const kinds = () =>
        kindsIn(tunnel.asked.map(({ body }) => body))
          .filter((kind) => kind !== 'client_report')
          .sort()
      await expect.poll(kinds).toEqual(ofServer)

      await using visitor = await chromium.visitor()
      const { page, posts } = visitor
      visitor.expectTrouble(/uncaught Error: after the page/)
      await page.setExtraHTTPHeaders(ASKS)
      await page.route('**/monitoring?**', (route) => route.fulfill({ json: {} }))
      const kindsSent = () => kindsIn(posts.map((post) => post.postDataBuffer()))
      const isTold = (kind: string) =>
        kindsSent().includes(kind) || page.waitForRequest(() => kindsSent().includes(kind))
      await page.goto(web.url, { waitUntil: 'networkidle' })
      await page.getByText(`(Global Privacy Control). ${says}`).waitFor()
      await failLater(page)
      for (const kind of ofBrowser) await isTold(kind)
      await flushSdk(page)
      const found = kindsSent().filter((kind) => /^(event|span|replay_event)/.test(kind))
      expect([...new Set(found)].sort()).toEqual(ofBrowser)
      expect(await isRecorded(page)).toBe(ofBrowser.includes('replay_event'))

      await web.stop() // sends what is left
      const ofPage = PRIVACY_SIGNAL === 'mark' ? ['transaction'] : []
      expect(kinds()).toEqual([...ofServer, ...ofPage])
    },
  )
})

async function failLater(page: Page): Promise<void> {
  await page.evaluate(
    () =>
      void setTimeout(() => {
        throw new Error('after the page')
      }),
  )
}
