/** Metrics: bounded in number, and equal to log and receipts. */

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { resolve } from 'node:path'
import { describe, expect } from 'vitest'
import { envelopeOf, errorOf, type Part } from '../../support/envelopes.ts'
import { ROOT } from '../../support/node.ts'
import { post } from '../../support/post.ts'
import { startSentry } from '../../support/sentry/sentry.ts'
import { it } from '../../support/tunnel/fixtures.ts'
import { openTunnel, type Tunnel } from '../../support/tunnel/in-process.ts'
import { until } from '../../support/until.ts'

/** Returns the values by series. */
async function seriesOf(tunnel: Tunnel): Promise<Map<string, number>> {
  const text = await (await fetch(`${tunnel.adminUrl}/metrics`)).text()
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]))
}

describe('Metrics', () => {
  it('grow by at most 60 series for any names that senders invent', async ({ sentry, tunnel }) => {
    await post(tunnel.url, { body: errorOf(sentry.dsn()) })
    const before = await seriesOf(tunnel)
    const invent = (i: number) => {
      const items = Array.from(
        { length: 20 },
        (_, n): Part => ({ header: { type: `invented-${i}-${n}` }, payload: 'x' }),
      )
      const header = {
        dsn: sentry.dsn(),
        sdk: { name: `sdk-${i}`, version: `${i}` },
        trace: { release: `r${i}` },
      }
      return envelopeOf(header, items)
    }
    for (let i = 0; i < 80; i += 20)
      await Promise.all(
        Array.from({ length: 20 }, async (_, n) => {
          await post(tunnel.url, { body: invent(i + n) })
          await post(tunnel.url, { path: `/path-${i + n}`, body: invent(i + n) })
          await post(tunnel.url, { body: errorOf(`https://key${i + n}@host${i + n}.example/${i + n}`) })
          await post(tunnel.url, {
            body: errorOf(sentry.dsn()),
            headers: { origin: `https://o${i + n}.example` },
          })
        }),
      )
    const after = await seriesOf(tunnel)
    expect(after.size - before.size).toBeLessThanOrEqual(60)
    expect([...after.keys()].join('\n')).not.toMatch(/invented|sdk-\d|path-\d|host\d|o\d+\.example/)
    expect(after.get('culvert_items_total{type="other",outcome="delivered"}')).toBe(1_600)
  })

  it('show the response time of each upstream, and receipts show the time before and at the upstream', async () => {
    await using one = await startSentry()
    await using two = await startSentry()
    await using tunnel = await openTunnel({ env: { SENTRY_DSN: `${one.dsn()} ${two.dsn()}` } })
    for (const dsn of [one.dsn(), one.dsn(), two.dsn()]) await post(tunnel.url, { body: errorOf(dsn) })
    await two.away()
    await post(tunnel.url, { body: errorOf(two.dsn()) })
    await until(async () => tunnel.receipts.length === 4)
    for (const {
      duration_ms: took,
      admitted_after_ms: admittedAfter = 0,
      upstream_duration_ms: upstreamTook = 0,
    } of tunnel.receipts) {
      expect([admittedAfter > 0, upstreamTook > 0]).toEqual([true, true])
      expect(admittedAfter + upstreamTook).toBeLessThanOrEqual(took + 0.002) // each is rounded to the microsecond
    }
    const series = await seriesOf(tunnel)
    const answered = (upstream: string) =>
      series.get(`culvert_upstream_request_duration_seconds_count{upstream="${upstream}"}`)
    expect([answered(one.url), answered(two.url)]).toEqual([2, 1]) // no response while it was away
  })

  it('agree with log and receipts: one of each for every envelope', async () => {
    await using sentry = await startSentry({ projects: { 1: 'a'.repeat(32), 2: 'b'.repeat(32) } })
    const [dsn, limited] = [sentry.dsn('1'), sentry.dsn('2')]
    await using tunnel = await openTunnel({ env: { SENTRY_DSN: `${dsn} ${limited}` } })
    const feed = await tunnel.admin('/receipts')
    const send = (body: string | Buffer) => post(tunnel.url, { body })
    const redirect = JSON.stringify({ exception: { values: [{ value: 'NEXT_REDIRECT' }] } })

    for (let i = 0; i < 3; i++) await send(errorOf(dsn)) // delivered
    sentry.once({ status: 429, headers: { 'x-sentry-rate-limits': '60:error:key' } })
    for (let i = 0; i < 3; i++) await send(errorOf(limited)) // rate_limited: once by Sentry, twice by the tunnel
    await send(envelopeOf({ dsn }, [{ header: { type: 'event' }, payload: redirect }])) // filtered
    await send('no envelope') // rejected
    await send(errorOf('https://x@evil.example/1')) // rejected
    sentry.once({ status: 400, body: { detail: 'no' } })
    await send(errorOf(dsn)) // declined
    await leaveEarly(tunnel.port) // aborted

    const expected = { delivered: 3, rate_limited: 3, filtered: 1, rejected: 2, declined: 1, aborted: 1 }
    const logged = () => tunnel.receipts
    await until(async () => logged().length >= 11)
    expect(countBy(logged().map(({ outcome }) => outcome))).toEqual(expected)
    expect(new Set(logged().map(({ id }) => id)).size).toBe(11)

    const envelopes = [...(await seriesOf(tunnel))].filter(([name]) =>
      name.startsWith('culvert_envelopes_total{'),
    )
    const counted = envelopes.flatMap(([name, count]) =>
      Array<string>(count).fill(/outcome="(\w+)"/.exec(name)?.[1] ?? ''),
    )
    expect(countBy(counted)).toEqual(expected)

    const receipts = await takeReceipts(feed, 11)
    expect(countBy(receipts.map(({ outcome }) => outcome))).toEqual(expected)
    expect(receipts.map(({ id }) => id)).toEqual(logged().map(({ id }) => id))
  })

  it('count envelopes and bytes by project, outcome and the most important category of the envelope', async ({
    sentry,
    tunnel,
  }) => {
    const dsn = sentry.dsn()
    const item = (type: string): Part => ({ header: { type, length: 2 }, payload: '{}' })
    const sent: [category: string, body: Buffer][] = [
      ['error', envelopeOf({ dsn }, [item('attachment'), item('event')])],
      ['error', errorOf(dsn)],
      ['replay', envelopeOf({ dsn }, [item('replay_event'), item('replay_recording')])],
      ['log_item', envelopeOf({ dsn }, [item('log')])],
      ['none', envelopeOf({ dsn }, [item('client_report')])],
      ['none', envelopeOf({ dsn }, [item('invented')])],
    ]
    sentry.allowUnexpected() // an unknown item type
    for (const [, body] of sent) expect((await post(tunnel.url, { body })).status).toBe(200)
    const series = await seriesOf(tunnel)
    const project = `127.0.0.1:${sentry.port}/456`
    for (const [category, bodies] of Map.groupBy(sent, ([name]) => name)) {
      const labels = `project="${project}",category="${category}"`
      expect(series.get(`culvert_envelopes_total{outcome="delivered",reason="",${labels}}`)).toBe(
        bodies.length,
      )
      const bytes = bodies.reduce((sum, [, body]) => sum + body.length, 0)
      expect(series.get(`culvert_envelope_bytes_total{outcome="delivered",${labels}}`)).toBe(bytes)
    }
  })

  it('have a series at 0 for each loss that an alert counts, so that its first increase is seen', async () => {
    await using sentry = await startSentry()
    await using tunnel = await openTunnel({ env: { SENTRY_DSN: sentry.dsn() } })
    const series = await seriesOf(tunnel)
    const project = `127.0.0.1:${sentry.port}/456`
    for (const end of ['delivered', 'declined', 'expired', 'evicted', 'purged'])
      expect(
        series.get(`culvert_spool_final_outcomes_total{final_outcome="${end}",project="${project}"}`),
      ).toBe(0)
    const rules = readFileSync(resolve(ROOT, 'deploy/prometheus/rules.yml'), 'utf8')
    const reasons = /reason=~"([a-z|-]+)"/.exec(rules)?.[1]?.split('|') ?? []
    expect(reasons).toHaveLength(4)
    for (const reason of reasons)
      for (const category of ['error', 'transaction', 'replay', 'none']) {
        const labels = `outcome="rejected",reason="${reason}",project="${project}",category="${category}"`
        expect(series.get(`culvert_envelopes_total{${labels}}`), labels).toBe(0)
      }
  })

  it('contain the version and the revision of the build', async () => {
    await using tunnel = await openTunnel({ env: { REVISION: '0a1b2c3' } })
    const names = [...(await seriesOf(tunnel)).keys()].filter((name) => name.startsWith('culvert_build_info'))
    expect(names).toEqual([
      expect.stringMatching(/^culvert_build_info\{version="\d+\.\d+\.\d+",revision="0a1b2c3"\}$/),
    ])
  })

  it('do not count connectivity probes, other paths and other methods', async () => {
    await using tunnel = await openTunnel()
    await post(tunnel.url, { body: '{}' })
    await post(tunnel.url, { path: '/elsewhere', body: '{}' })
    await post(tunnel.url, { method: 'GET' })
    await post(tunnel.url, { method: 'OPTIONS' })
    const counted = [...(await seriesOf(tunnel))].filter(([name]) =>
      name.startsWith('culvert_envelopes_total'),
    )
    expect(counted.filter(([, count]) => count > 0)).toEqual([])
    expect(tunnel.receipts).toEqual([])
  })
})

function countBy(words: string[]): Record<string, number> {
  return Object.fromEntries([...Map.groupBy(words, (word) => word)].map(([word, all]) => [word, all.length]))
}

/** Starts a post and disconnects in the middle. */
async function leaveEarly(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  const head = 'POST /monitoring HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"dsn"'
  socket.write(head, () => socket.destroySoon())
  await once(socket, 'close')
}

async function takeReceipts(feed: Response, count: number): Promise<{ id: string; outcome: string }[]> {
  const receipts: { id: string; outcome: string }[] = []
  let text = ''
  for await (const chunk of feed.body ?? []) {
    text += Buffer.from(chunk)
    const lines = text.split('\n')
    text = lines.pop() ?? ''
    for (const line of lines) if (line.startsWith('data:')) receipts.push(JSON.parse(line.slice(5)))
    if (receipts.length >= count) break
  }
  return receipts
}
