/** Sentry that counts bytes and stores event IDs: the bodies of attacks would not fit into memory. */

import { EventEmitter, once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { listen } from '../listen.ts'

const KEY = '0123456789abcdef0123456789abcdef'
const PARSED_BYTES = 4096 // valid envelopes are smaller
const WAIT_MS = 10_000

export type CountingSentry = Awaited<ReturnType<typeof startCountingSentry>>

/** Starts the server on a free port of `host`. `await using` stops it. */
export async function startCountingSentry(host = '127.0.0.1') {
  const eventIds = new Set<string>()
  const arrivals = new EventEmitter<{ event: [] }>()
  arrivals.setMaxListeners(0)
  const state = { bytes: 0, largest: 0, status: 200 }

  const server = createServer(async (request, response) => {
    const start: Buffer[] = []
    let bytes = 0
    try {
      for await (const chunk of request) {
        state.bytes += chunk.length
        bytes += chunk.length
        if (bytes <= PARSED_BYTES) start.push(chunk)
      }
    } catch {
      return // the tunnel has disconnected
    }
    state.largest = Math.max(state.largest, bytes)
    if (state.status === 200 && bytes <= PARSED_BYTES) note(eventIdOf(request, Buffer.concat(start)))
    response.writeHead(state.status, { 'content-type': 'application/json' }).end('{}')
  })

  function note(eventId: string | undefined): void {
    if (eventId === undefined) return
    eventIds.add(eventId)
    arrivals.emit('event')
  }

  const listening = await listen(server, 0, host)
  const { port } = listening
  return Object.assign(state, listening, {
    dsn: `http://${KEY}@${host}:${port}/456`,
    /** DSN of another project, which no tunnel of these tests accepts. */
    foreignDsn: `http://${KEY}@${host}:${port}/789`,
    eventIds,
    /** Resolves when it has received all of these events; rejects with the number of missing ones. */
    async received(ids: readonly string[], timeoutMs = WAIT_MS): Promise<void> {
      const signal = AbortSignal.timeout(timeoutMs)
      const missing = () => ids.filter((id) => !eventIds.has(id)).length
      while (missing() > 0)
        await once(arrivals, 'event', { signal }).catch(() => {
          throw new Error(`${missing()} of ${ids.length} events have not arrived within ${timeoutMs} ms`)
        })
    },
  })
}

const DECODERS = new Map<string, (bytes: Buffer) => Buffer>([
  ['gzip', (bytes) => gunzipSync(bytes, { maxOutputLength: PARSED_BYTES })],
  ['br', (bytes) => brotliDecompressSync(bytes, { maxOutputLength: PARSED_BYTES })],
])

function eventIdOf({ headers }: IncomingMessage, body: Buffer): string | undefined {
  try {
    const decoded = DECODERS.get(headers['content-encoding'] ?? '')?.(body) ?? body
    return JSON.parse(decoded.toString('utf8', 0, decoded.indexOf('\n'))).event_id
  } catch {
    return undefined // of an attack
  }
}
