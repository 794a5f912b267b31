/** Sentry stand-in that costs almost no CPU: counts requests and sends the same response to all. */

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { CERTIFICATE, KEY } from './certificate.ts'

export type Sink = Awaited<ReturnType<typeof openSink>>

const BODY = '{"id":"2deddd85e2bc45e9b74d59e2666a2e28"}'

/** Client reports without entries, by which a tunnel probes a server that was away, are smaller. All posted envelopes are larger. */
const PROBE_BYTES = 500

/** Response of Relay to an envelope, behind Sentry's proxy. */
const ANSWER = Buffer.from(
  [
    'HTTP/1.1 200 OK',
    'server: nginx',
    'date: Sat, 21 Nov 2026 00:35:53 GMT',
    'content-type: application/json',
    `content-length: ${BODY.length}`,
    'vary: origin, access-control-request-method, access-control-request-headers',
    'access-control-allow-origin: *',
    'access-control-expose-headers: x-sentry-error,x-sentry-rate-limits,retry-after',
    'cross-origin-resource-policy: cross-origin',
    '',
    BODY,
  ].join('\r\n'),
)

/** Listens on a free port of 127.0.0.1. `await using` closes it. Over TLS, it shows the certificate of the tests. */
export async function openSink(protocol: 'http' | 'https' = 'http') {
  const seen = { envelopes: 0, bytes: 0, faults: [] as string[] }
  const sockets = new Set<Socket>()
  const server =
    protocol === 'http'
      ? createServer({ noDelay: true }, serve)
      : createTlsServer({ noDelay: true, cert: readFileSync(CERTIFICATE), key: readFileSync(KEY) }, serve)
  await listen(0)
  const { port } = server.address() as AddressInfo
  return {
    protocol,
    port,
    seen,
    /** Stops listening, and closes all connections. */
    leave,
    /** Listens again on the same port. */
    comeBack: () => listen(port),
    [Symbol.asyncDispose]: leave,
  }

  function serve(socket: Socket): void {
    sockets.add(socket)
    socket.on('data', countRequests(socket, seen))
    socket.on('error', () => socket.destroy()) // a server that stops resets its connections
    socket.on('close', () => sockets.delete(socket))
  }

  async function listen(where: number): Promise<void> {
    server.listen(where, '127.0.0.1')
    await once(server, 'listening')
  }

  async function leave(): Promise<void> {
    if (!server.listening) return
    server.close()
    for (const socket of sockets) socket.destroy()
    await once(server, 'close')
  }
}

/** Parses requests: heads as far as necessary; bodies are counted and not kept. */
function countRequests(socket: Socket, seen: Sink['seen']): (chunk: Buffer) => void {
  let missing = 0 // remaining bytes of the body
  let isProbe = false
  let early: Buffer | undefined // incomplete head
  return function take(chunk) {
    let rest = early ? Buffer.concat([early, chunk]) : chunk
    early = undefined
    while (rest.length > 0) {
      if (missing === 0) {
        const end = rest.indexOf('\r\n\r\n')
        if (end < 0) {
          early = rest
          return
        }
        missing = lengthIn(rest.toString('latin1', 0, end), seen)
        isProbe = missing < PROBE_BYTES
        rest = rest.subarray(end + 4)
      }
      const part = Math.min(missing, rest.length)
      missing -= part
      if (!isProbe) seen.bytes += part
      rest = rest.subarray(part)
      if (missing > 0) return
      if (!isProbe) seen.envelopes++
      socket.write(ANSWER)
    }
  }
}

function lengthIn(head: string, seen: Sink['seen']): number {
  const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0)
  if (length === 0 || !head.startsWith('POST ')) seen.faults.push(head)
  return length
}
