/** Large uploads through the shipped containers, whose memory is far smaller than what is under way. */

import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Compose, startCompose } from '../helpers/compose.ts'
import { post } from '../helpers/post.ts'
import { requires } from '../helpers/requirements.ts'
import { until } from '../helpers/until.ts'

const UPLOADS = 64
const BYTES = 50_000_000
const KEY = '0123456789abcdef0123456789abcdef'
const DRAINED_MS = 240_000

/** The engine's own bridge: this machine as every container can reach it. */
const BRIDGE = networkInterfaces().docker0?.find(({ family }) => family === 'IPv4')?.address ?? '172.17.0.1'

const payload = Buffer.alloc(BYTES - 8, 'culvert ')

describe('With 256 MB of memory each, nginx and the tunnels', requires('docker'), () => {
  const started = new AsyncDisposableStack()
  let stack: Compose
  let sink: Awaited<ReturnType<typeof startSink>>

  beforeAll(async () => {
    sink = started.use(await startSink())
    stack = started.use(await startCompose({ env: { SENTRY_DSN: sink.dsn } }))
  })

  afterAll(() => started.disposeAsync())

  it('carry 64 uploads of 50 MB at once, and all arrive intact', { timeout: 400_000 }, async () => {
    const numbers = Array.from({ length: UPLOADS }, (_, i) => i)
    const answers = await Promise.all(
      numbers.map((number) => post(stack.url, { body: Readable.from(upload(sink.dsn, number)) })),
    )
    expect(answers.map(({ status }) => status).filter((status) => status !== 200 && status !== 202)).toEqual(
      [],
    )

    const wanted = numbers.map((number) => digestOf(upload(sink.dsn, number)))
    await until(async () => wanted.every((digest) => sink.digests.has(digest)), DRAINED_MS)
    for (const service of ['nginx', 'tunnel'])
      for (const container of await stack.containers(service)) {
        const state = await stack.docker(
          'inspect',
          '--format',
          '{{.State.OOMKilled}} {{.RestartCount}} {{.HostConfig.Memory}}',
          container,
        )
        expect(state).toBe(`false 0 ${256 * 1024 * 1024}`)
      }
  })
})

/** An envelope with one attachment, that differs from the others in eight bytes. */
function* upload(dsn: string, number: number): Generator<Buffer> {
  yield Buffer.from(
    `${JSON.stringify({ dsn })}\n{"type":"attachment","length":${BYTES},"filename":"a.bin"}\n`,
  )
  yield Buffer.from(String(number).padStart(8, '0'))
  for (let at = 0; at < payload.length; at += 65_536) yield payload.subarray(at, at + 65_536)
}

function digestOf(chunks: Iterable<Buffer>): string {
  const hash = createHash('sha256')
  for (const chunk of chunks) hash.update(chunk)
  return hash.digest('hex')
}

/** A Sentry that keeps only digests of what it takes: what arrives here would not fit into memory. */
async function startSink() {
  const digests = new Set<string>()
  const server = createServer(async (request, response) => {
    const hash = createHash('sha256')
    try {
      for await (const chunk of request) hash.update(chunk)
    } catch {
      return // cut short: it is tried again
    }
    digests.add(hash.digest('hex'))
    response.setHeader('content-type', 'application/json').end('{}')
  })
  server.listen(0, BRIDGE)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    digests,
    dsn: `http://${KEY}@${BRIDGE}:${port}/456`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
