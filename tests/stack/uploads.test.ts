/** Large and concurrent uploads through the shipped containers, within their memory limits. */

import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { crc32 } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BRIDGE, type Compose, startCompose } from '../support/docker/compose.ts'
import { post } from '../support/post.ts'
import { requires } from '../support/requirements.ts'
import { until } from '../support/until.ts'

const KEY = '0123456789abcdef0123456789abcdef'
const DRAINED_MS = 240_000
const SILENCE_MS = 4_000 // less than client_body_timeout

const MIB = 1024 * 1024
const payload = Buffer.alloc(50_000_000, 'culvert ')

describe('nginx and the tunnels, with the memory limits of compose,', requires('docker'), () => {
  const started = new AsyncDisposableStack()
  let stack: Compose
  let sink: Awaited<ReturnType<typeof startSink>>

  beforeAll(async () => {
    sink = started.use(await startSink())
    stack = started.use(await startCompose({ env: { SENTRY_DSN: sink.dsn } }))
  })

  afterAll(() => started.disposeAsync())

  it('forward 32 concurrent uploads of 50 MB intact', { timeout: 400_000 }, async () => {
    await carryAtOnce(32, 50_000_000)
  })

  it('forward 1,200 concurrent replays of 150 KB intact while Sentry is slow', {
    timeout: 400_000,
  }, async () => {
    sink.delayMs = 1500
    await carryAtOnce(1_200, 150_000)
  })

  it.each(['/monitoring', '/'])(
    'survive 3,000 senders to %s that stop in the middle of 150 KB',
    async (path) => {
      const [nginx = ''] = await stack.containers('nginx')
      const host = await stack.address(nginx, 'edge') // the engine's proxy for published ports cannot handle this number
      const sockets = Array.from({ length: 3_000 }, () => connect(8080, host).on('error', () => {}))
      const head = `POST ${path} HTTP/1.1\r\nHost: shop.example\r\nContent-Length: 150000\r\n\r\n`
      for (const socket of sockets) socket.write(head)
      const sending = sockets.map(
        (socket) => new Promise((resolve) => socket.write(payload.subarray(0, 140_000), resolve)),
      )
      // On a busy machine the last ones begin after nginx would have ended the first, which send a byte now and then.
      const timer = setInterval(() => sockets.forEach((socket) => void socket.write('c')), SILENCE_MS)
      await Promise.all(sending).finally(() => clearInterval(timer))
      const waiting = sockets.filter(({ readyState }) => readyState === 'open') // nginx ends a silent connection after 10 s
      // One worker of nginx may accept all of them. Its 4,096 connections include those to web or the tunnels.
      expect(waiting.length).toBeGreaterThan(2_000)
      const { status } = await post(stack.url, { body: Readable.from(upload(sink.dsn, 3_000, 0)) })
      expect(status).toBe(200)
      expect((await post(stack.url, { path: '/', method: 'GET' })).status).toBe(200)
      expect(await stack.compose('logs', 'nginx')).not.toContain('exited on signal')
      for (const socket of sockets) socket.destroy()
    },
  )

  async function carryAtOnce(many: number, bytes: number): Promise<void> {
    const numbers = Array.from({ length: many }, (_, i) => i)
    const wanted = numbers.map((number) => checksumOf(upload(sink.dsn, bytes, number)))
    const answers = await Promise.all(
      numbers.map((number) => post(stack.url, { body: Readable.from(upload(sink.dsn, bytes, number)) })),
    )
    expect(answers.map(({ status }) => status).filter((status) => status !== 200)).toEqual([])
    sink.delayMs = 0
    await until(async () => wanted.every((checksum) => sink.checksums.has(checksum)), DRAINED_MS)
    for (const [service, memory] of [
      ['nginx', 384],
      ['tunnel', 384],
    ] as const)
      for (const container of await stack.containers(service)) {
        const state = await stack.docker(
          'inspect',
          '--format',
          '{{.State.OOMKilled}} {{.RestartCount}} {{.HostConfig.Memory}}',
          container,
        )
        expect(state, service).toBe(`false 0 ${memory * MIB}`)
      }
  }
})

/** Builds an envelope with one attachment that differs from the others in eight bytes. */
function* upload(dsn: string, bytes: number, number: number): Generator<Buffer> {
  yield Buffer.from(
    `${JSON.stringify({ dsn })}\n{"type":"attachment","length":${bytes},"filename":"a.bin"}\n`,
  )
  yield Buffer.from(String(number).padStart(8, '0'))
  for (let at = 8; at < bytes; at += 65_536) yield payload.subarray(at, Math.min(at + 65_536, bytes))
}

function checksumOf(chunks: Iterable<Buffer>): number {
  let checksum = 0
  for (const chunk of chunks) checksum = crc32(chunk, checksum)
  return checksum
}

/** Starts a Sentry that keeps only checksums of bodies, to save memory. */
async function startSink() {
  const checksums = new Set<number>()
  const slow = { delayMs: 0 }
  const server = createServer(async (request, response) => {
    let checksum = 0
    try {
      for await (const chunk of request) checksum = crc32(chunk, checksum)
    } catch {
      return // incomplete: the tunnel retries it
    }
    checksums.add(checksum)
    await sleep(slow.delayMs)
    response.setHeader('content-type', 'application/json').end('{}')
  })
  server.listen(0, BRIDGE)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return Object.assign(slow, {
    checksums,
    dsn: `http://${KEY}@${BRIDGE}:${port}/456`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  })
}
