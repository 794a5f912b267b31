/** Requests to Sentry: classification of responses, timeouts, connections and the circuit breaker. */

import { randomBytes } from 'node:crypto'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createTcpServer, type Server, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { parseDsn } from '../../../../contract/dsn.ts'
import type { OutgoingBody } from '../../../../tunnel/src/envelope/body/outgoing.ts'
import { UpstreamLimits } from '../../../../tunnel/src/forward/limits/upstream-limits.ts'
import { UpstreamRequest } from '../../../../tunnel/src/forward/upstream/request.ts'
import {
  postReport,
  UpstreamClient,
  type UpstreamSettings,
  type Upstreams,
} from '../../../../tunnel/src/forward/upstream/upstream-client.ts'
import { createProjects, type Project } from '../../../../tunnel/src/pipeline/projects.ts'
import { attachmentOf, errorOf } from '../../../support/envelopes.ts'
import { listen } from '../../../support/listen.ts'
import type { Answering } from '../../../support/sentry/responses.ts'
import { type Sentry, startSentry } from '../../../support/sentry/sentry.ts'

const KEY = '0123456789abcdef0123456789abcdef'
const SETTINGS: UpstreamSettings = {
  connectMs: 10_000,
  answerMs: 10_000,
  lateMs: 100,
  connections: 4,
  proxies: undefined,
}
const SHORT = { answerMs: 400 } // for an upstream that never responds
const SENDER = { network: '' }

describe('UpstreamClient', () => {
  let scope: AsyncDisposableStack
  let sentry: Sentry
  let time: number

  beforeEach(async () => {
    scope = new AsyncDisposableStack()
    sentry = scope.use(await startSentry())
    time = 0
  })

  afterEach(() => scope.disposeAsync())

  function open(dsn = sentry.dsn(), settings: Partial<UpstreamSettings> = {}) {
    const { all } = createProjects([parseDsn(dsn)].flatMap((parsed) => parsed ?? []))
    const limits = new UpstreamLimits(() => time)
    const upstreams = new UpstreamClient(all, { ...SETTINGS, ...settings }, limits, () => time)
    scope.defer(() => upstreams.close())
    return { upstreams, limits, project: all[0] as Project }
  }

  const parcelOf = (...pieces: Buffer[]): OutgoingBody => ({
    content: () => pieces,
    bytes: Buffer.concat(pieces).length,
    encoding: 'identity',
  })

  function send({ upstreams, project }: { upstreams: Upstreams; project: Project }) {
    return upstreams.post(project, parcelOf(errorOf(sentry.dsn())), [], SENDER)
  }

  it('returns answered for a 429, with its limits', async () => {
    sentry.once('limiting')
    const reply = { status: 429, rateLimits: '60:error:organization', retryAfter: '60' }
    expect(await send(open()).final).toMatchObject({ kind: 'answered', reply })
  })

  describe('sends an envelope', () => {
    it.each([
      ['1 KiB', 1024],
      ['64 KiB', 64 * 1024],
    ])('of %s chunks as one body with its Content-Length', async (_, size) => {
      const { upstreams, project } = open()
      const envelope = attachmentOf(sentry.dsn(), randomBytes(1_000_000))
      const { final } = upstreams.post(project, parcelOf(...cut(envelope, size)), [], SENDER)
      expect(await final).toMatchObject({ kind: 'answered', reply: { status: 200 } })
      const { headers, body } = await sentry.next()
      expect(headers['content-length']).toBe(String(envelope.length))
      expect(headers['transfer-encoding']).toBeUndefined()
      expect(body.equals(envelope)).toBe(true)
    })

    it('of many chunks, and returns a 413 that arrives before the last one', async () => {
      const answer: RequestListener = (_, response) =>
        response.writeHead(413, { 'content-type': 'application/json' }).end('{"detail":"big"}')
      const { upstreams, project } = open(`http://${KEY}@127.0.0.1:${await serve(createServer(answer))}/456`)
      const { final } = upstreams.post(project, manyPieces(), [], SENDER)
      expect(await final).toMatchObject({ kind: 'answered', reply: { status: 413 } })
    })

    it.each<[string, (socket: Socket) => unknown, bytes: number]>([
      [
        'closes the connection in the middle of it',
        (socket) => socket.once('data', () => socket.destroy()),
        16_000_000,
      ],
      ['reads nothing of it', (socket) => socket.pause(), 2_000_000], // the timeout grows by 1 s for each MB
    ])('of many chunks, and returns undecided when Sentry %s', async (_, treat, bytes) => {
      const port = await serve(createTcpServer(treat))
      const { upstreams, project } = open(`http://${KEY}@127.0.0.1:${port}/456`, SHORT)
      const { final } = upstreams.post(project, manyPieces(bytes), [], SENDER)
      expect(await final).toMatchObject({ kind: 'undecided', status: undefined })
    })

    /** Builds a body that exceeds the buffers of sockets. */
    const manyPieces = (bytes = 16_000_000) => parcelOf(...cut(randomBytes(bytes), 64 * 1024))
  })

  it.each([
    ['fails', new Error('ENOENT: purged')],
    ['was cut', undefined],
  ])('does not count a body whose file %s as a failure of Sentry', async (_, error) => {
    sentry.allowUnexpected() // incomplete requests
    const place = open()
    const brokenOff = async function* () {
      yield Buffer.from('{}\n')
      if (error) throw error
    }
    const outgoing = { ...parcelOf(Buffer.alloc(1_000)), content: () => Readable.from(brokenOff()) }
    for (let i = 0; i < 10; i++)
      expect(await place.upstreams.send(place.project, outgoing, [], SENDER).final).toMatchObject({
        kind: 'undecided',
        reason: 'body-unreadable',
      })
    expect(place.upstreams.isOpen(sentry.url)).toBe(false)
    expect(await send(place).final).toMatchObject({ kind: 'answered' })
  })

  describe('returns undecided when Sentry', () => {
    it.each<[string, Answering, object]>([
      ['redirects with 302, which is not followed', 'redirecting', { reason: 'status-302', status: 302 }],
      ['closes the connection', 'hanging-up', { reason: 'UND_ERR_SOCKET' }],
      [
        'closes the connection before it has read the request',
        'hanging-up-early',
        { reason: expect.any(String) },
      ],
      [
        'returns more than 64 KiB',
        { body: 'x'.repeat(64 * 1024 + 1) },
        { reason: 'reply-too-large', status: 200 },
      ],
    ])('%s', async (_, answer, outcome) => {
      sentry.once(answer)
      expect(await send(open()).final).toMatchObject({ kind: 'undecided', ...outcome })
    })

    it('refuses connections', async () => {
      await sentry.away()
      expect(await send(open()).final).toMatchObject({ kind: 'undecided', reason: 'ECONNREFUSED' })
    })

    it('has a host name that does not resolve', async () => {
      const { final } = send(open(`http://${KEY}@sentry.invalid/456`))
      expect(await final).toMatchObject({ kind: 'undecided', reason: expect.stringMatching(/^E/) })
    })

    it.each([
      ['ends the connection without a response', ''],
      ['ends the connection in its response headers', 'HTTP/1.1 200 OK\r\nContent-Le'],
      ['ends the connection in its response body', 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"id":'],
      ['ends the connection in a chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{"id":'],
      ['does not speak HTTP', 'SSH-2.0-OpenSSH_9.9\r\n'],
    ])('%s', async (_, words) => {
      const port = await serve(
        createTcpServer((socket) => socket.once('data', () => socket.end(words)).on('error', () => {})),
      )
      expect(await send(open(`http://${KEY}@127.0.0.1:${port}/456`)).final).toMatchObject({
        kind: 'undecided',
      })
    })
  })

  it('returns late after UPSTREAM_LATE_MS, and the response when it arrives after that', async () => {
    sentry.once({ delayMs: 250 })
    const { soon, final } = send(open())
    expect(await soon).toBe('late')
    expect(await final).toMatchObject({
      kind: 'answered',
      reply: { status: 200, contentType: 'application/json' },
    })
  })

  it('reads a response of 64 KiB completely', async () => {
    const body = JSON.stringify('x'.repeat(64 * 1024 - 2))
    sentry.once({ body })
    const delivery = await send(open()).final
    expect(delivery).toMatchObject({ kind: 'answered' })
    expect(delivery.kind === 'answered' && delivery.reply.body.length).toBe(body.length)
  })

  it('reuses connections for the following requests', async () => {
    let connections = 0
    const answer: RequestListener = (request, response) =>
      request.resume().on('end', () => response.end('{}'))
    const server = createServer(answer).on('connection', () => void connections++)
    const place = open(`http://${KEY}@127.0.0.1:${await serve(server)}/456`)
    for (let i = 0; i < 20; i++) expect(await send(place).final).toMatchObject({ kind: 'answered' })
    expect(connections).toBeLessThanOrEqual(2) // a connection is free shortly after its response
  })

  it('counts a request that was late and then failed once', async () => {
    sentry.answer('silent')
    const place = open(sentry.dsn(), { lateMs: 20, answerMs: 40 })
    const { upstreams, project } = place
    await Promise.all(Array.from({ length: 4 }, () => send(place).final))
    expect(upstreams.mayDeliver(project)).toBe(true)
    await send(place).final
    expect(upstreams.mayDeliver(project)).toBe(false)
  })

  it.each([200, 429, 400, 503])('learns rate limits from a response with status %i', async (status) => {
    sentry.once({ status, headers: { 'x-sentry-rate-limits': '60:error:key' } })
    const place = open()
    await send(place).final
    expect(place.limits.inForce()).toMatchObject([{ category: 'error', until: 60_000 }])
  })

  it('learns rate limits from responses to client reports', async () => {
    sentry.once({ headers: { 'x-sentry-rate-limits': '60:session:key' } })
    const { upstreams, limits, project } = open()
    await postReport(upstreams)(project, errorOf(sentry.dsn()))
    expect(limits.inForce()).toMatchObject([{ category: 'session' }])
  })

  it('sends client reports, and returns if Sentry accepted them', async () => {
    const { upstreams, project } = open()
    const report = postReport(upstreams)
    const envelope = Buffer.from(`{"dsn":"${sentry.dsn()}"}\n{"type":"client_report"}\n{}\n`)
    expect(await report(project, envelope)).toBe(true)
    expect((await sentry.next()).body).toEqual(envelope)
    sentry.once({ status: 503 })
    expect(await report(project, envelope)).toBe(false)
  })

  const serve = async (server: Server) => scope.use(await listen(server)).port
})

/** A body that takes 5 s to send. */
const LARGE = { bytes: 2 * 1024 * 1024, lateMs: 1_000, maxMs: 60_000, transferMs: 5_000 }

describe('The response to a large body', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it.each<[string, number, string]>([
    ['is prompt within the late limit', 900, 'prompt'],
    ['is prompt within the late limit and the time to send the body', 5_900, 'prompt'],
    ['is slow after that', 6_100, 'slow'],
  ])('%s', async (_, afterMs, expected) => {
    const noted: string[] = []
    const listener = {
      onLate: () => void noted.push('late'),
      onEnd: (_: unknown, timing: string) => void noted.push(timing),
    }
    const request = new UpstreamRequest(LARGE, listener)
    const controller = { aborted: false, paused: false, reason: null, rawHeaders: null, rawTrailers: null }
    const methods = { abort() {}, pause() {}, resume() {} }
    request.onRequestStart({ ...controller, ...methods })
    vi.advanceTimersByTime(afterMs)
    request.onResponseStart({ ...controller, ...methods }, 200, {})
    request.onResponseEnd()
    expect(await request.final).toMatchObject({ kind: 'answered' })
    expect(noted).toEqual([expected])
  })
})

function cut(bytes: Buffer, size: number): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
    bytes.subarray(at * size, (at + 1) * size),
  )
}
