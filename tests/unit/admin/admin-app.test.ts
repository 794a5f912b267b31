/** Admin port: health and metrics without a token, everything else only with it. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { INBOX_DSN } from '../../../contract/dsn.ts'
import { EVENT_ID, errorOf } from '../../support/envelopes.ts'
import { post } from '../../support/post.ts'
import { openTunnel, type Tunnel } from '../../support/tunnel/in-process.ts'

const OPEN = ['/livez', '/readyz', '/metrics']
const CLOSED = [
  '/inbox',
  '/inbox/x',
  '/spool',
  '/spool/x',
  '/spool/x/envelope',
  '/spool/retry',
  '/spool/pause',
  '/status',
  `/sessions/${'a'.repeat(43)}`,
  '/figures',
  '/projects',
  '/policies/example',
  '/rejections',
  '/receipts',
  '/receipts/x',
  '/',
  '/nothing',
  '/livez/x',
  '/Inbox',
  '//inbox',
]

describe('The admin port', () => {
  const started = new AsyncDisposableStack()
  let tunnel: Tunnel
  let tokenless: Tunnel

  beforeAll(async () => {
    const both = await Promise.all([openTunnel(), openTunnel({ env: { ADMIN_TOKEN: '' } })])
    ;[tunnel, tokenless] = both
    for (const one of both) started.use(one)
  })

  afterAll(() => started.disposeAsync())

  it.each(OPEN)('returns 200 for %s without a token', async (path) => {
    for (const { adminUrl } of [tunnel, tokenless])
      expect((await fetch(`${adminUrl}${path}`)).status).toBe(200)
  })

  it.each(CLOSED)('returns 401 for %s without the token', async (path) => {
    for (const authorization of [
      '',
      'Bearer',
      'Bearer ',
      'Bearer wrong',
      `Basic ${tunnel.token}`,
      `${tunnel.token}`,
      `bearer${tunnel.token}`,
    ])
      for (const method of ['GET', 'POST'] as const) {
        const { status, text } = await post(tunnel.adminUrl, { path, method, headers: { authorization } })
        expect(status).toBe(401)
        expect(text).not.toContain(tunnel.token)
      }
  })

  it.each(CLOSED)(
    'returns 403 for %s when no token is configured, and names the settings that set one',
    async (path) => {
      for (const authorization of ['', 'Bearer', 'Bearer undefined', 'Bearer '])
        expect(
          await post(tokenless.adminUrl, { path, method: 'GET', headers: { authorization } }),
        ).toMatchObject({
          status: 403,
          json: { detail: expect.stringContaining('Set OPERATOR_PASSWORD or ADMIN_TOKEN') },
        })
    },
  )

  it('returns 404 for unknown paths and for envelopes', async () => {
    expect((await tunnel.admin('/nothing')).status).toBe(404)
    expect(
      (await tunnel.admin('/monitoring', { method: 'POST', body: errorOf(INBOX_DSN).toString() })).status,
    ).toBe(404)
  })

  it('does not serve its paths on the public port', async () => {
    for (const path of [...OPEN, '/inbox', '/status'])
      expect(await post(tunnel.url, { path, method: 'GET' })).toMatchObject({ status: 404 })
  })

  it('lists the envelopes of the inbox, newest first, and returns their bytes', async () => {
    const bodies = [errorOf(INBOX_DSN), errorOf(INBOX_DSN, { event_id: null, sdk: { name: 'sdk' } })]
    const [first] = bodies
    for (const body of bodies) expect(await post(tunnel.url, { body })).toMatchObject({ status: 200 })

    const { entries } = await (await tunnel.admin('/inbox')).json()
    expect(entries).toMatchObject([
      { event_id: null, types: ['event'] },
      {
        event_id: EVENT_ID,
        bytes: first?.length,
        types: ['event'],
        time: expect.any(Number),
        id: expect.any(String),
      },
    ])

    const read = await tunnel.admin(`/inbox/${entries[1].id}`)
    expect(Buffer.from(await read.arrayBuffer())).toEqual(first)
    expect(read.headers.get('content-type')).toBe('application/x-sentry-envelope')
    expect(read.headers.get('content-disposition')).toBe('attachment')
    expect(read.headers.get('x-content-type-options')).toBe('nosniff')
    const beginning = await tunnel.admin(`/inbox/${entries[1].id}?first=20`)
    expect(Buffer.from(await beginning.arrayBuffer())).toEqual(first?.subarray(0, 20))
    expect(beginning.headers.get('x-envelope-bytes')).toBe(String(first?.length))
    for (const wrong of ['0', '-1', 'x', '', '16777217'])
      expect((await tunnel.admin(`/inbox/${entries[1].id}?first=${wrong}`)).status).toBe(400)
    expect((await tunnel.admin('/inbox/none')).status).toBe(404)
  })
})
