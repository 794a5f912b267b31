/** Request bodies: size limits, storage in memory or in a file, and forwarding. */

import { randomBytes } from 'node:crypto'
import { readdirSync, readlinkSync } from 'node:fs'
import { createServer, request } from 'node:http'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  Aborted,
  Bodies,
  type Body,
  type BodySettings,
  type Pieces,
} from '../../../../tunnel/src/envelope/body/bodies.ts'
import { decompress } from '../../../../tunnel/src/envelope/body/decode.ts'
import { MemoryBudget } from '../../../../tunnel/src/envelope/body/memory-budget.ts'
import { buildBody } from '../../../../tunnel/src/envelope/body/outgoing.ts'
import { attachmentOf, errorOf } from '../../../support/envelopes.ts'
import { listen } from '../../../support/listen.ts'
import { type Posting, post } from '../../../support/post.ts'
import { type Sentry, startSentry } from '../../../support/sentry/sentry.ts'
import { makeFolder } from '../../../support/temporary-folder.ts'
import { openTunnel, type Tunnel } from '../../../support/tunnel/in-process.ts'
import { until } from '../../../support/until.ts'

const KIB = 1024
const MIB = 1024 * KIB
const LARGE_BYTES = 18_000_000 // the tunnel keeps at most 16 MiB of a body in memory
const SETTINGS = { maxBytes: 4 * MIB, shareBytes: MIB, timeoutMs: 5_000, onFileFault: () => {} }
const PACK = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync, zstd: zstdCompressSync }
const PACKED = Object.entries(PACK)

describe('A body', () => {
  it.each([
    ['0 bytes', 0],
    ['100 bytes', 100],
    ['the size of its memory share', MIB],
  ])('of %s stays in memory, with or without a Content-Length', async (_, bytes) => {
    await using receiver = await startReceiver()
    const sent = randomBytes(bytes)
    for (const way of [sent, inPieces(sent)]) {
      const body = await receiver.take(way)
      expect(isInMemory(body)).toBe(true)
      expect((await contentOf(body)).equals(sent)).toBe(true)
      expect(body.wireBytes).toBe(bytes)
      expect(receiver.memory.usedBytes()).toBe(bytes)
      await body.release()
      expect(receiver.memory.usedBytes()).toBe(0)
    }
  })

  it('above its memory share is written to a file, which is deleted on release', async () => {
    await using receiver = await startReceiver()
    const sent = randomBytes(3 * MIB)
    const body = await receiver.take(inPieces(sent))
    expect(isInMemory(body)).toBe(false)
    expect(receiver.memory.usedBytes()).toBe(0)
    expect(readdirSync(receiver.folder)).toHaveLength(1)
    expect(openFiles(receiver.folder)).toBe(1)
    expect((await contentOf(body)).equals(sent)).toBe(true)
    expect((await contentOf(body)).equals(sent)).toBe(true)
    await body.release()
    expect(openFiles(receiver.folder)).toBe(0)
  })

  it('is written to a file while other bodies use the memory budget', async () => {
    await using receiver = await startReceiver({ memoryBytes: 1_500_000 })
    const sent = randomBytes(900_000)
    const first = await receiver.take(sent)
    const second = await receiver.take(sent)
    expect([first, second].map(isInMemory)).toEqual([true, false])
    await first.release()
    const third = await receiver.take(sent)
    expect(isInMemory(third)).toBe(true)
    for (const body of [second, third]) {
      expect((await contentOf(body)).equals(sent)).toBe(true)
      await body.release()
    }
    expect(receiver.memory.usedBytes()).toBe(0)
  })

  it.each([
    ['whose Content-Length is too large', (bytes: Buffer) => bytes],
    ['that is too large without a Content-Length', inPieces],
  ])('%s is rejected with envelope-too-large and leaves no memory or file behind', async (_, way) => {
    await using receiver = await startReceiver()
    const rejection = receiver.take(way(randomBytes(4 * MIB + 1)))
    await expect(rejection).rejects.toMatchObject({ code: 'envelope-too-large' })
    expect(receiver.memory.usedBytes()).toBe(0)
    expect(openFiles(receiver.folder)).toBe(0)
  })

  it('of exactly MAX_ENVELOPE_BYTES is accepted', async () => {
    await using receiver = await startReceiver()
    const body = await receiver.take(inPieces(randomBytes(4 * MIB)))
    expect(body.wireBytes).toBe(4 * MIB)
    await body.release()
  })

  it.each([10, 2 * MIB])(
    'that stops after %d bytes is rejected at the deadline, and leaves nothing',
    async (bytes) => {
      await using receiver = await startReceiver({ timeoutMs: 200 })
      const rejection = receiver.take(unending(randomBytes(bytes)))
      await expect(rejection).rejects.toMatchObject({ code: 'body-timeout' })
      expect(receiver.memory.usedBytes()).toBe(0)
      await expect.poll(() => openFiles(receiver.folder)).toBe(0)
    },
  )

  it.each([100, 1_200_000])(
    'whose sender disconnects after %d bytes is aborted and leaves no memory or file behind',
    async (bytes) => {
      await using receiver = await startReceiver()
      for (let turn = 0; turn < 10; turn++)
        await expect(receiver.takeAndLeave(randomBytes(bytes))).rejects.toBeInstanceOf(Aborted)
      await expect.poll(() => openFiles(receiver.folder)).toBe(0)
      expect(receiver.memory.usedBytes()).toBe(0)
    },
  )
})

describe('The outgoing body', () => {
  const bytes = Buffer.from('0123456789'.repeat(20_000))
  const cuts: [number, number][] = [
    [0, 3],
    [70_000, 70_001],
    [100_000, 150_000],
    [199_990, 200_000],
  ]
  const left = Buffer.concat([
    bytes.subarray(3, 70_000),
    bytes.subarray(70_001, 100_000),
    bytes.subarray(150_000, 199_990),
  ])

  it('has the received bytes when no range is removed', async () => {
    const body = bodyOf(bytes, 'gzip')
    const { content, ...outgoing } = buildBody(body, 1, [])
    expect(content()).toBe(body.wire)
    expect(outgoing).toEqual({ bytes: bytes.length, encoding: 'gzip' })
  })

  it.each<[string, number, Buffer, Body['encoding']]>([
    ['in memory', MIB, bytes, 'identity'],
    ['in a file', 10 * KIB, bytes, 'identity'],
  ])('has all bytes except the removed ranges of a body %s', async (_, shareBytes, sent, encoding) => {
    await using receiver = await startReceiver({ shareBytes })
    const body = await receiver.take(inPieces(sent), encoding)
    const outgoing = buildBody(body, bytes.length, cuts)
    expect(outgoing).toMatchObject({ bytes: left.length, encoding: 'identity' })
    expect((await bytesOf(outgoing.content())).equals(left)).toBe(true)
    await body.release()
  })
})

describe('A body sent through the tunnel', () => {
  const started = new AsyncDisposableStack()
  let sentry: Sentry
  let tunnel: Tunnel
  let folder: string

  beforeAll(async () => {
    folder = started.use(await makeFolder()).path
    sentry = started.use(await startSentry())
    const env = { SENTRY_DSN: sentry.dsn(), BODY_DIR: folder, MAX_ENVELOPE_BYTES: String(40 * MIB) }
    tunnel = started.use(await openTunnel({ env }))
  })

  afterAll(() => started.disposeAsync())

  const send = (posting: Posting) => post(tunnel.url, posting)

  it.each(PACKED)('in %s is forwarded compressed and unmodified', async (encoding, pack) => {
    const body = pack(errorOf(sentry.dsn()))
    expect(await send({ headers: { 'content-encoding': encoding }, body })).toMatchObject({ status: 200 })
    const received = await sentry.next()
    expect(received.headers['content-encoding']).toBe(encoding)
    expect(received.body.equals(body)).toBe(true)
  })

  it.each(['utf-8', ''])('with the Content-Encoding "%s" is treated as not compressed', async (encoding) => {
    const body = errorOf(sentry.dsn())
    await send({ headers: { 'content-encoding': encoding }, body })
    const received = await sentry.next()
    expect(received.headers['content-encoding']).toBeUndefined()
    expect(received.body.equals(body)).toBe(true)
  })

  it.each(PACKED)(
    'in %s leaves uncompressed after keys are removed that only Relay may write',
    async (encoding, pack) => {
      const forged = errorOf(sentry.dsn(), { forwarded_for: '1.2.3.4' })
      await send({ headers: { 'content-encoding': encoding }, body: pack(forged) })
      const received = await sentry.next()
      expect(received.headers['content-encoding']).toBeUndefined()
      expect(received.body.equals(errorOf(sentry.dsn()))).toBe(true)
    },
  )

  it.each(PACKED)(
    'in %s of a few bytes that decompress to 18 MB stays small, also without a reserved key',
    async (encoding, pack) => {
      const payload = Buffer.alloc(LARGE_BYTES)
      for (const header of [{}, { forwarded_for: '1.2.3.4' }]) {
        const small = pack(attachmentOf(sentry.dsn(), payload, header))
        expect(await send({ headers: { 'content-encoding': encoding }, body: small })).toMatchObject({
          status: 200,
        })
        const received = await sentry.next()
        expect(received.headers['content-encoding']).toBe(encoding)
        expect(received.body.length).toBeLessThanOrEqual(Math.max(MIB, 100 * small.length))
        expect(received.decoded.equals(attachmentOf(sentry.dsn(), payload))).toBe(true)
      }
    },
  )

  it('is rejected after its first line when that line names an unknown project', async () => {
    const foreign = `{"dsn":"https://abc@elsewhere.example/1"}\n{"type":"attachment"}\n`
    const bomb = brotliCompressSync(Buffer.concat([Buffer.from(foreign), Buffer.alloc(LARGE_BYTES)]))
    const broken = bomb.subarray(0, bomb.length - 4) // its end would be rejected with another code
    expect(await send({ headers: { 'content-encoding': 'br' }, body: broken })).toMatchObject({
      json: { code: 'dsn-unknown' },
    })
    expect(await send({ body: inPieces(Buffer.from(`${foreign}${'x'.repeat(MIB)}`)) })).toMatchObject({
      json: { code: 'dsn-unknown' },
    })
  })

  it('with chunked encoding is forwarded with a Content-Length', async () => {
    const body = errorOf(sentry.dsn())
    await send({ body: inPieces(body, 7) })
    const received = await sentry.next()
    expect(received.headers['content-length']).toBe(String(body.length))
    expect(received.body.equals(body)).toBe(true)
  })

  it.each([
    ['unmodified', {}],
    ['without a reserved key', { forwarded_for: '1.2.3.4' }],
  ])('of 18 MB arrives %s, and no file is left', async (_, header) => {
    const payload = randomBytes(LARGE_BYTES)
    const clean = attachmentOf(sentry.dsn(), payload)
    const forged = Buffer.concat([
      Buffer.from(JSON.stringify(header).replace(/}$/, ',').replace(/^{,/, '{')),
      clean.subarray(1),
    ])
    expect(await send({ body: inPieces(forged, MIB) })).toMatchObject({ status: 200 })
    const received = await sentry.next()
    expect(received.body.equals(clean)).toBe(true)
    expect(readdirSync(folder)).toEqual([])
  })

  it('that is complete is forwarded although its sender has disconnected', async () => {
    const arrived = sentry.requests.length
    const body = attachmentOf(sentry.dsn(), randomBytes(70_000))
    const head = `POST /monitoring HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n`
    for (let n = 0; n < 50; n++) {
      const sender = connect(tunnel.port, '127.0.0.1')
      sender.write(Buffer.concat([Buffer.from(head), body]), () => sender.destroy())
    }
    await until(async () => sentry.requests.length === arrived + 50)
    for (const received of sentry.requests.slice(arrived)) expect(received.body.equals(body)).toBe(true)
  })

  it('whose sender disconnects half way is recorded as aborted and not forwarded', async () => {
    const arrived = sentry.requests.length
    const body = errorOf(sentry.dsn())
    const leaving = request({
      port: tunnel.port,
      path: '/monitoring',
      method: 'POST',
      headers: { 'content-length': body.length },
    })
    leaving.on('error', () => {})
    leaving.write(body.subarray(0, 40), () => leaving.destroy())
    expect(await tunnel.receipt(({ outcome: answer }) => answer === 'aborted')).toMatchObject({
      status: 0,
      items: [],
    })
    expect(sentry.requests).toHaveLength(arrived)
  })
})

/** Starts a server that receives bodies, and returns functions that post to it. */
async function startReceiver({
  memoryBytes = 2 * MIB,
  ...settings
}: Partial<BodySettings & { memoryBytes: number }> = {}) {
  const folder = await makeFolder()
  const memory = new MemoryBudget(memoryBytes, 0)
  const bodies = new Bodies({ ...SETTINGS, dir: folder.path, ...settings }, memory)
  const outcomes: PromiseWithResolvers<Body>[] = []
  const server = createServer((incoming, response) => {
    const outcome = outcomes.shift()
    bodies
      .receive(incoming, () => {})
      .then(
        (body) => outcome?.resolve(body),
        (error) => outcome?.reject(error),
      )
      .finally(() => response.end())
  })
  const listening = await listen(server)
  const { port } = listening

  function take(sent: Buffer | Readable, encoding: Body['encoding'] = 'identity'): Promise<Body> {
    const outcome = expectOutcome()
    const length = Buffer.isBuffer(sent) ? { 'content-length': sent.length } : {}
    const headers = { 'content-encoding': encoding, ...length }
    const sending = request({ port, method: 'POST', headers, agent: false }).on('error', () => {})
    if (Buffer.isBuffer(sent)) sending.end(sent)
    else sent.pipe(sending)
    return outcome
  }

  function takeAndLeave(sent: Buffer): Promise<Body> {
    const outcome = expectOutcome()
    const leaving = request({ port, method: 'POST', headers: { 'content-length': 2 * MIB }, agent: false })
    leaving.on('error', () => {}).write(sent, () => leaving.destroy())
    return outcome
  }

  function expectOutcome(): Promise<Body> {
    const outcome = Promise.withResolvers<Body>()
    outcomes.push(outcome)
    return outcome.promise
  }

  return {
    memory,
    folder: folder.path,
    take,
    takeAndLeave,
    async [Symbol.asyncDispose]() {
      await listening[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
    },
  }
}

function inPieces(bytes: Buffer, size = 64 * KIB): Readable {
  const pieces = Math.ceil(bytes.length / size)
  return Readable.from(
    Array.from({ length: pieces }, (_, at) => bytes.subarray(at * size, (at + 1) * size)),
    { objectMode: false },
  )
}

/** Returns a stream with some bytes and without an end. */
function unending(bytes: Buffer): Readable {
  const stream = new Readable({ read() {} })
  stream.push(bytes)
  return stream
}

async function contentOf(body: Body): Promise<Buffer> {
  return bytesOf(buildBody(body, body.wireBytes, []).content())
}

async function bytesOf(content: Pieces | Readable): Promise<Buffer> {
  return content instanceof Readable ? buffer(content) : Buffer.concat(content)
}

function isInMemory({ wire }: Body): boolean {
  return !('handle' in wire)
}

function bodyOf(wire: Buffer, encoding: Body['encoding']): Body {
  const memory = new MemoryBudget(64 * 1024 * KIB, 0)
  const head = wire.subarray(0, 16)
  const decompressed = () => decompress({ content: () => [wire], encoding, head }, memory)
  return { wire: [wire], wireBytes: wire.length, encoding, head, decompressed, release: async () => {} }
}

/** Returns the number of files in `folder` that this process holds open, also unlinked ones. */
function openFiles(folder: string): number {
  const targets = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`)
    } catch {
      return '' // descriptor that reads the folder itself
    }
  })
  return targets.filter((target) => target.startsWith(`${folder}/`)).length
}
