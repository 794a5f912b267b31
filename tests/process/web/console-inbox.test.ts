/** Inbox of the console: an envelope can be listed, opened, downloaded and deleted. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { INBOX_DSN } from '../../../contract/dsn.ts'
import { envelopeOf, type Part } from '../../support/envelopes.ts'
import { post } from '../../support/post.ts'
import { startTunnel, type Tunnel } from '../../support/tunnel/tunnel.ts'
import { until } from '../../support/until.ts'
import { get, signIn, startWebOver } from '../../support/web/operator.ts'
import type { Web } from '../../support/web/web.ts'

const NO_WORD = { toString: 1, valueOf: 1 }

const of = (type: unknown, payload: string, more = {}): Part => ({
  header: { type, length: Buffer.byteLength(payload), ...more },
  payload,
})

describe('The inbox of the console', () => {
  const started = new AsyncDisposableStack()
  let tunnel: Tunnel
  let web: Web
  let cookie: string | undefined

  beforeAll(async () => {
    tunnel = started.use(await startTunnel())
    web = started.use(await startWebOver(tunnel))
    cookie = (await signIn(web.url)).cookie
  }, 300_000)

  afterAll(() => started.disposeAsync())

  it('opens an attachment with an invalid name', async () => {
    const part = of('attachment', 'x', { filename: NO_WORD })
    await opens(envelopeOf({ dsn: INBOX_DSN }, [part]), part.payload)
  })

  it('renders an event: frames in their order, breadcrumbs, tags, user and contexts', async () => {
    const frame = (name: string, file: string, own: boolean) => ({
      ...{ function: name, filename: file, lineno: 7, in_app: own },
    })
    const context = { pre_context: ['', 'function paid() {'], context_line: '  sum()', post_context: ['}'] }
    const frames = [
      ...[frame('started', 'app.js', true), frame('scheduled', 'lib.js', false)],
      ...[{ ...frame('paid', 'app.js', true), ...context }, frame('called', 'lib.js', false)],
    ]
    const payload = JSON.stringify({
      timestamp: 1_700_000_010,
      exception: { values: [{ type: 'TypeError', value: 'no basket', stacktrace: { frames } }] },
      breadcrumbs: [{ timestamp: 1_700_000_007.5, category: 'ui.click', message: 'button#pay' }],
      tags: { shop: 'Bern' },
      user: { id: 'u-7' },
      contexts: { device: { family: 'Phone 3' } },
      release: 'shop@2.0.0',
    })
    expect(
      (await post(tunnel.url, { body: envelopeOf({ dsn: INBOX_DSN }, [of('event', payload)]) })).status,
    ).toBe(200)
    const html = await (await find(await newest())).text()
    expect(/<pre[^>]*>\n/.test(html)).toBe(false) // browsers drop this line break: the page would differ from what React renders
    const text = wordsOf(html)
    const paragraphs = [
      'TypeError: no basket',
      '1 library frame',
      'called in lib.js:7',
      'paid in app.js:7',
      'scheduled in lib.js:7',
      'started in app.js:7',
      'Breadcrumbs',
      '1 breadcrumb',
      '−2.5 s Click button#pay',
      'Release shop@2.0.0',
      'Tags shop Bern',
      'User id u-7',
      'Contexts device',
      '"family": "Phone 3"',
    ]
    const places = paragraphs.map((words) => [words, text.indexOf(words) >= 0])
    expect(places).toEqual(paragraphs.map((words) => [words, true]))
    const order = paragraphs.slice(0, 6).map((words) => text.indexOf(words))
    expect(order).toEqual(order.toSorted((a, b) => a - b))
  })

  it('redirects from the receipt token of a response to the envelope, and from an unknown one to the feed', async () => {
    const body = envelopeOf({ dsn: INBOX_DSN }, [of('log', '{"items":[]}', { item_count: 0 })])
    const { status, headers } = await post(tunnel.url, { body })
    expect(status).toBe(200)
    const target = async (token: string) =>
      (await get(`${web.url}/console/inbox/by-token/${token}`, cookie)).headers.get('location')
    const path = `/console/inbox/${await newest()}`
    await expect.poll(() => target(String(headers['x-culvert-receipt']))).toBe(path) // no replica may respond in time
    expect(await target('0'.repeat(32))).toBe('/console/live-feed')
  })

  /** Returns the text of a page without its markup. */
  function wordsOf(html: string): string {
    return html
      .replaceAll(/<!-- -->|<script.*?<\/script>/gs, '')
      .replaceAll(/<[^>]+>/g, ' ')
      .replaceAll('&quot;', '"')
      .replaceAll(/\s+/g, ' ')
  }

  /** Resolves when the list shows an envelope: it is empty while the tunnel responds too slowly. */
  async function newest(): Promise<string> {
    let id: string | undefined
    await until(async () => {
      const list = await get(`${web.url}/console/inbox?type=all`, cookie)
      expect(list.status).toBe(200)
      id = /href="\/console\/inbox\/([^"?]+)["?]/.exec(await list.text())?.[1]
      return id !== undefined
    })
    return id ?? ''
  }

  /** Returns the response for a page or a download of the inbox. Web responds with 404 while the tunnel is too slow. */
  async function find(path: string): Promise<Response> {
    let response: Response | undefined
    await until(async () => {
      response = await get(`${web.url}/console/inbox/${path}`, cookie)
      return response.status !== 404
    })
    return response as Response
  }

  async function opens(body: Buffer, payload: Part['payload'] | undefined): Promise<void> {
    expect((await post(tunnel.url, { body })).status).toBe(200)
    const id = await newest()
    const page = await find(id)
    expect(page.status).toBe(200)
    const text = await page.text()
    expect(text).toContain('>Delete this envelope</button>')
    expect(text.length).toBeLessThan(3_000_000)
    const raw = await find(`${id}/envelope`)
    expect(raw.headers.get('content-security-policy')).toBe("default-src 'none'; sandbox")
    expect(raw.headers.get('content-disposition')).toBe(`attachment; filename="${id}.envelope"`)
    expect(Buffer.from(await raw.arrayBuffer())).toEqual(body)
    const item = await find(`${id}/items/0`)
    expect(item.headers.get('content-security-policy')).toBe("default-src 'none'; sandbox")
    expect(await item.text()).toBe(payload)
    await until(async () => {
      const deleted = await fetch(`${web.url}/console/inbox/${id}/delete`, {
        method: 'POST',
        redirect: 'manual',
        headers: { cookie: cookie ?? '', origin: web.url },
      })
      expect(deleted.status).toBe(303)
      return (await tunnel.admin(`/inbox/${id}`)).status === 404
    })
    const missing = await get(`${web.url}/console/inbox/${id}`, cookie)
    expect(missing.status).toBe(404)
    expect(await missing.text()).toContain('The inbox does not contain this envelope')
  }
})
