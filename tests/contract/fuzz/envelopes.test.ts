/** Random envelopes: each gets a defined status within 1 s, and Sentry receives no byte that was not sent. */

import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type App, createApp, servedPaths } from '../../../tunnel/src/http/public-app.ts'
import { type Input, inputsFor } from '../../support/fuzz/inputs.ts'
import { decode, type RecordingUpstream, startRecordingUpstream } from '../../support/fuzz/upstream.ts'
import { faultOf } from '../../support/security/attack.ts'
import { openTunnel, type Tunnel } from '../../support/tunnel/in-process.ts'

/** Numbers of envelopes and of the series: npm test -- --runs 1000000 --seed 7 */
const RUNS = Number(process.env.FUZZ_RUNS ?? 10_000)
const SEED = Number(process.env.FUZZ_SEED ?? 1)
const TOGETHER = 25
const MAX_SECONDS = 1
const KEY = '0123456789abcdef0123456789abcdef'

describe('The tunnel', () => {
  const started = new AsyncDisposableStack()
  let upstream: RecordingUpstream
  let tunnel: Tunnel
  let app: App
  let envelopePaths: Set<string>
  let dsn: string
  let sent = 0

  beforeAll(async () => {
    upstream = started.use(await startRecordingUpstream())
    dsn = `http://${KEY}@127.0.0.1:${upstream.port}/456`
    const unlimited = { ADDRESS_RATE: '0' }
    tunnel = started.use(await openTunnel({ env: { SENTRY_DSN: dsn, LOG_LEVEL: 'error', ...unlimited } }))
    app = createApp({ ...tunnel.services.config, ...tunnel.services })
    envelopePaths = new Set(servedPaths({ ...tunnel.services.config, ...tunnel.services }))
  })

  afterAll(() => started.disposeAsync())

  it(`answers ${RUNS} random envelopes of the series ${SEED}, and adds no bytes to those that it forwards`, {
    timeout: RUNS * 10,
  }, async () => {
    const inputs = fc.array(inputsFor(dsn), { minLength: TOGETHER, maxLength: TOGETHER, size: 'max' })
    const answered = fc.asyncProperty(inputs, async (together) => {
      const answers = await Promise.all(together.map(send))
      expect(answers.flatMap(({ fault }) => fault ?? [])).toEqual([])
      for (const { input, seconds } of answers)
        if (seconds > MAX_SECONDS) expect(await fastestAlone(input)).toBeLessThan(MAX_SECONDS)
    })
    await fc.assert(answered, {
      numRuns: Math.ceil(RUNS / TOGETHER),
      seed: SEED,
      endOnFailure: RUNS > 10_000,
    })
    expect(upstream.count()).toBeGreaterThan(RUNS / 20) // enough are accepted for their bytes to be compared
    expect(tunnel.logs).toEqual([])
    expect((await tunnel.admin('/readyz')).status).toBe(200)
  })

  /** Sends an input three more times, so that a busy machine does not count as a slow response. */
  async function fastestAlone(input: Input): Promise<number> {
    const times: number[] = []
    for (let n = 0; n < 3; n++) times.push((await send(input)).seconds)
    return Math.min(...times)
  }

  async function send(input: Input): Promise<{ input: Input; fault: string | undefined; seconds: number }> {
    const { path, headers, body } = input
    const name = `fuzz-${++sent}`
    const incoming = new IncomingMessage(new Socket())
    incoming.method = 'POST'
    incoming.url = path
    incoming.headers = { host: 'shop.example', 'user-agent': name, ...headers }
    incoming.push(body)
    incoming.push(null)
    const began = performance.now()
    const { status, answer } = await ask(path, incoming)
    const seconds = (performance.now() - began) / 1000
    const attack = { name, headers, body, isValid: true }
    const outcome = { status, text: answer, seconds, sentBytes: body.length }
    const isRoute = path.startsWith('/monitoring')
    const fault = isRoute || status !== 404 ? faultOf(attack, outcome) : undefined
    const encoded = { encoding: headers['content-encoding'], body }
    return { input, fault: fault ?? inventedIn(encoded, upstream.take(name)), seconds }
  }

  /** Passes a request to the pipeline or to Hono, as the public server does. */
  async function ask(path: string, incoming: IncomingMessage): Promise<{ status: number; answer: string }> {
    if (envelopePaths.has(path.split('?')[0] ?? '')) {
      const { status, body } = await tunnel.services.ingest.handle(incoming)
      return { status, answer: String(body ?? '') }
    }
    const response = await app.request(path, { method: 'POST' }, { incoming })
    return { status: response.status, answer: response.body ? await text(response.body) : '' }
  }
})

type Encoded = { encoding: string | undefined; body: Buffer }

/** Returns a sentence when `received` is not what was sent, apart from removed parts. */
function inventedIn(sent: Encoded, received: Encoded | undefined): string | undefined {
  if (received === undefined || received.body.equals(sent.body)) return undefined
  const [from, to] = [decode(sent), decode(received)]
  return isSubsequence(to, from) ? undefined : `forwards bytes that were not in ${from.toString('latin1')}`
}

function isSubsequence(part: Buffer, whole: Buffer): boolean {
  let at = 0
  for (const byte of part) {
    at = whole.indexOf(byte, at) + 1
    if (at === 0) return false
  }
  return true
}
