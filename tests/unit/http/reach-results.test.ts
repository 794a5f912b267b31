/** Reach tests: the script for browsers, and the results that they post. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { errorOf } from '../../support/envelopes.ts'
import { type Posting, post } from '../../support/post.ts'
import { exchangeRaw } from '../../support/raw-request.ts'
import { type Sentry, startSentry } from '../../support/sentry/sentry.ts'
import { makeFolder } from '../../support/temporary-folder.ts'
import { openTunnel, type Tunnel } from '../../support/tunnel/in-process.ts'
import { writeSdk } from '../../support/tunnel/sdk.ts'

const FRIEND = 'https://friend.example'

describe('The reach test', () => {
  let started: AsyncDisposableStack
  let sentry: Sentry

  beforeEach(async () => {
    started = new AsyncDisposableStack()
    sentry = started.use(await startSentry())
  })

  afterEach(() => started.disposeAsync())

  async function open(env: Record<string, string> = {}): Promise<Tunnel> {
    const folder = started.use(await makeFolder())
    await writeSdk(folder.path)
    const all = { SENTRY_DSN: sentry.dsn(), REACH_SAMPLE_RATE: '0.1', ALLOWED_ORIGINS: FRIEND, ...env }
    return started.use(await openTunnel({ env: all, sdkFolder: folder.path }))
  }

  const get = (tunnel: Tunnel, path: string) => post(tunnel.url, { method: 'GET', path })
  let visitors = 0
  const nextVisitor = () => `81.2.69.${++visitors}`
  const send = (tunnel: Tunnel, body: string, headers: Posting['headers'] = {}) =>
    post(tunnel.url, {
      path: '/monitoring/reach',
      body: Buffer.from(body),
      headers: { 'x-forwarded-for': nextVisitor(), ...headers },
    })
  const report = (tunnel: Tunnel) => post(tunnel.url, { body: errorOf(sentry.dsn()) })

  async function counted(tunnel: Tunnel): Promise<Record<string, number>> {
    return tunnel.services.counters.figures().reach
  }

  it('is at the end of sdk.js, and alone in reach.js, with the URL that an SDK without a tunnel posts to', async () => {
    const tunnel = await open()
    const { text } = await get(tunnel, '/monitoring/sdk/reach.js')
    const config = JSON.parse(text.replace(/^test\((.*)\)$/, '$1'))
    expect(config).toMatchObject({ rate: 0.1, path: '/monitoring' })
    expect(config.url).toMatch(/\/api\/\d+\/envelope\/\?sentry_version=7&sentry_key=\w+$/)
    const loader = await get(tunnel, '/monitoring/sdk.js')
    expect(loader.text).toMatch(/^start\(/)
    expect(loader.text.endsWith(text)).toBe(true)
  })

  it.each([
    ['by default', { REACH_SAMPLE_RATE: '0' }],
    ['in inbox mode', { SENTRY_DSN: '' }],
  ])('adds nothing to a page %s', async (_, env) => {
    const tunnel = await open(env)
    expect((await get(tunnel, '/monitoring/sdk/reach.js')).text).toBe('')
    expect((await get(tunnel, '/monitoring/sdk.js')).text).not.toContain('test(')
  })

  it('does not wait for a long or slow body', async () => {
    const tunnel = await open()
    for (const length of [1_000_000, 9]) {
      const head = `POST /monitoring/reach HTTP/1.1\r\nHost: x\r\nSec-Fetch-Site: same-origin\r\nContent-Length: ${length}\r\n\r\n`
      const response = await exchangeRaw(tunnel.port, `${head}b`)
      expect(response).toMatch(/^HTTP\/1.1 204 /)
    }
    expect(await counted(tunnel)).toEqual({})
  })

  it('counts the results, also in the metrics', async () => {
    const tunnel = await open()
    await report(tunnel)
    for (const result of ['reachable', 'reachable', 'blocked', 'inconclusive'])
      expect((await send(tunnel, result)).status).toBe(204)
    expect(await counted(tunnel)).toEqual({ reachable: 2, blocked: 1, inconclusive: 1 })
    expect(await (await tunnel.admin('/metrics')).text()).toMatch(
      /culvert_reach_tests_total\{result="blocked",project="[^"]+"\} 1/,
    )
  })

  it('ignores unknown and long results', async () => {
    const tunnel = await open()
    for (const result of ['', 'perhaps', 'blocked'.repeat(1_000)])
      expect((await send(tunnel, result)).status).toBe(204)
    expect(await counted(tunnel)).toEqual({})
  })

  it('rejects results of other sites, and allows those of ALLOWED_ORIGINS', async () => {
    const tunnel = await open()
    await report(tunnel)
    const from = (origin: string) => ({ origin, 'sec-fetch-site': 'cross-site' })
    expect((await send(tunnel, 'blocked', from('https://foreign.example'))).status).toBe(403)
    expect((await send(tunnel, 'blocked', from(FRIEND))).status).toBe(204)
    expect(await counted(tunnel)).toEqual({ blocked: 1 })
  })

  it.each([
    ['an address', '81.2.69.250', '81.2.69.250'],
    ['a /64 of IPv6', '2a02:6b8:1::1', '2a02:6b8:1::2'],
    ['a private address', '10.1.2.3', '10.1.2.3'],
  ])('counts one result a minute of %s', async (_, first, second) => {
    const tunnel = await open()
    await report(tunnel)
    await send(tunnel, 'blocked', { 'x-forwarded-for': first })
    for (let n = 0; n < 5; n++) await send(tunnel, 'blocked', { 'x-forwarded-for': second })
    expect(await counted(tunnel)).toEqual({ blocked: 1 })
    tunnel.advanceClock(60_000)
    await send(tunnel, 'reachable', { 'x-forwarded-for': second })
    expect(await counted(tunnel)).toEqual({ blocked: 1, reachable: 1 })
  })

  it('has no result before Sentry has responded, and after an attempt without a response', async () => {
    const tunnel = await open()
    await send(tunnel, 'blocked')
    expect(await counted(tunnel)).toEqual({ inconclusive: 1 })
    await report(tunnel)
    await send(tunnel, 'blocked')
    expect(await counted(tunnel)).toEqual({ inconclusive: 1, blocked: 1 })
    await sentry.away()
    expect(await report(tunnel)).toMatchObject({ status: 200, outcome: 'spooled' })
    await send(tunnel, 'blocked')
    await send(tunnel, 'reachable')
    expect(await counted(tunnel)).toEqual({ inconclusive: 3, blocked: 1 })
  })
})
