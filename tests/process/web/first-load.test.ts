/** Bytes of the scripts that a page names. The chart library of the overview and the SDK come after them. */

import { parseHTML } from 'linkedom'
import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTunnel } from '../../support/tunnel/in-process.ts'
import { signIn, startWebOver } from '../../support/web/operator.ts'
import type { Web } from '../../support/web/web.ts'

/** Most bytes of JavaScript, compressed with brotli. */
const BUDGETS: [path: string, bytes: number][] = [
  ['/', 130_000],
  ['/console', 150_000],
  ['/console/live-feed', 150_000],
  ['/console/rejections', 150_000],
  ['/console/projects', 150_000],
  ['/console/spool', 150_000],
  ['/console/inbox', 150_000],
  ['/console/replicas', 150_000],
  ['/console/setup', 150_000],
  ['/console/docs', 150_000],
  ['/console/docs/configuration', 150_000],
]
const LEAST = 50_000

describe('The first load', () => {
  const started = new AsyncDisposableStack()
  let web: Web
  let cookie: string

  beforeAll(async () => {
    web = started.use(await startWebOver(started.use(await openTunnel())))
    cookie = (await signIn(web.url)).cookie ?? ''
  }, 300_000)
  afterAll(() => started.disposeAsync())

  /** Returns the bytes of the scripts of a page, without the one for browsers without modules. */
  async function scriptBytes(path: string, cookie: string): Promise<number> {
    const page = await fetch(web.url + path, { headers: { cookie }, redirect: 'manual' })
    expect(page.status).toBe(200)
    const { document } = parseHTML(await page.text())
    const scripts = [...document.querySelectorAll('script[src]')].filter(
      (script) => !script.hasAttribute('noModule'),
    )
    const urls = new Set(scripts.map((script) => new URL(script.getAttribute('src') ?? '', web.url).href))
    const sizes = await Promise.all([...urls].map(compressedBytes))
    return sizes.reduce((sum, size) => sum + size, 0)
  }

  it.each(BUDGETS)('of %s is less than %i bytes of JavaScript', async (path, most) => {
    const bytes = await scriptBytes(path, cookie)
    expect(bytes).toBeGreaterThan(LEAST)
    expect(bytes).toBeLessThan(most)
  })

  it('of the sign-in page is no JavaScript', async () => {
    expect(await scriptBytes('/console/sign-in', '')).toBe(0)
  })
})

async function compressedBytes(url: string): Promise<number> {
  const { statusCode, headers, body } = await request(url, { headers: { 'accept-encoding': 'br' } })
  expect([statusCode, headers['content-encoding']]).toEqual([200, 'br'])
  return (await body.arrayBuffer()).byteLength
}
