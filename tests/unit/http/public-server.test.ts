/** Requests that Node.js itself would answer with an empty body: they get the JSON of a rejection. */

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { Hono } from 'hono'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { REJECTIONS, type RejectionCode } from '../../../contract/rejections.ts'
import { createClientResolver } from '../../../tunnel/src/http/client-address.ts'
import type { Ingest } from '../../../tunnel/src/http/ingest.ts'
import type { App } from '../../../tunnel/src/http/public-app.ts'
import { createPublicServer, publicServerOptions } from '../../../tunnel/src/http/public-server.ts'
import { AllowedHosts } from '../../../tunnel/src/pipeline/hosts.ts'
import type { HttpResponse } from '../../../tunnel/src/pipeline/pipeline.ts'
import { listen } from '../../support/listen.ts'
import { type Answered, post } from '../../support/post.ts'
import { exchangeRaw, sendRaw } from '../../support/raw-request.ts'
import { openTunnel, type Tunnel } from '../../support/tunnel/in-process.ts'

const POST = 'POST /monitoring HTTP/1.1\r\nContent-Length: 2\r\nConnection: close\r\n'
const MIB = 1024 * 1024

function expectRejection({ status, headers, json }: Answered, code: RejectionCode): void {
  const { sentence, fix, ...rejection } = REJECTIONS[code]
  expect({ status, json }).toEqual({
    status: rejection.status,
    json: { detail: `${sentence} ${fix}`, code, causes: [], request_id: headers['x-request-id'] },
  })
  expect(headers).toMatchObject({
    'content-type': 'application/json',
    'x-request-id': expect.stringMatching(/^[0-9a-f]{32}$/),
  })
}

describe('The public port', () => {
  let tunnel: Tunnel

  beforeAll(async () => {
    tunnel = await openTunnel()
  })

  afterAll(() => tunnel.stop())

  it.each([
    ['an HTTP/1.0 request without Host', 'POST /monitoring HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}'],
    ['an HTTP/1.1 request without Host', `${POST}\r\n{}`],
    ['a Host with a user name', `${POST}Host: a@b\r\n\r\n{}`],
    ['a Host with two ports', `${POST}Host: a:1:2\r\n\r\n{}`],
    ['a control character in a header', `${POST}Host: x\r\nUser-Agent: a\x01b\r\n\r\n{}`],
    ['a space in the name of a header', `${POST}Host: x\r\nUser Agent: a\r\n\r\n{}`],
    ['80 KB of headers', `${POST}Host: x\r\n${`X: ${'x'.repeat(8_000)}\r\n`.repeat(10)}\r\n{}`],
    ['a backslash in the path', `${POST.replace('itor', '\\')}Host: x\r\n\r\n{}`],
    ['bytes that are not HTTP', 'EHLO mail.example\r\n\r\n'],
    [
      'a chunk without a length',
      'POST /monitoring HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
    ],
  ])('returns request-malformed for %s', async (_, bytes) => {
    const answer = await sendRaw(tunnel.port, bytes)
    expectRejection(answer, 'request-malformed')
    expect(answer.headers.connection).toBe('close')
  })

  it('keeps the connection open when only the Host header is invalid', async () => {
    const { headers, json } = await post(tunnel.url, { headers: { host: 'a@b' }, body: '{}' })
    expect(json).toMatchObject({ code: 'request-malformed' })
    expect(headers.connection).toBe('keep-alive')
  })

  it('repeats the request id that nginx gave to a malformed request', async () => {
    const id = '0123456789abcdef'.repeat(2)
    const answer = await sendRaw(tunnel.port, `${POST}Host: x\r\nX-Request-Id: ${id}\r\nX: \x01\r\n\r\n{}`)
    expectRejection(answer, 'request-malformed')
    expect(answer.headers['x-request-id']).toBe(id)
  })

  it('lets the sender of a large body read the rejection', async () => {
    const head = POST.replace('2', String(8 * MIB))
    expectRejection(
      await sendRaw(tunnel.port, `${head}Host: x\r\nX: \x01\r\n\r\n${'x'.repeat(8 * MIB)}`),
      'request-malformed',
    )
  })

  it('accepts 33 KB of headers, which is more than nginx forwards', async () => {
    const headers = `X: ${'x'.repeat(994)}\r\n`.repeat(33)
    expect((await sendRaw(tunnel.port, `${POST}Host: x\r\n${headers}\r\n{}`)).status).toBe(200)
  })

  it('reads the rest of a rejected envelope, so that the connection stays usable', async () => {
    const head = `POST /monitoring HTTP/1.1\r\nHost: x\r\nContent-Length: ${MIB}\r\n`
    const rejected = `${head}Origin: https://other.example\r\n\r\n${'x'.repeat(MIB)}`
    const answers = await exchangeRaw(tunnel.port, `${rejected}${POST}Host: x\r\n\r\n{}`)
    expect(answers).toMatch(/^HTTP\/1.1 403 .*"origin-foreign".*HTTP\/1.1 200 .*\r\n\r\n\{\}$/s)
  })

  it.each([
    ['an upper-case Host', '/monitoring', 'X'],
    ['the highest port', '/monitoring', 'x:65535'],
    ['an escaped path', '/%6donitoring', 'x'],
    ['a whole URL', 'http://x/monitoring', 'x'],
  ])('gives %s the same response as a usual request', async (_, target, host) => {
    const send = async (to: string, from: string) => {
      const bytes = `${POST.replace('/monitoring', to)}Host: ${from}\r\n\r\n{}`
      const { status, text, headers } = await sendRaw(tunnel.port, bytes)
      return { status, text, headers: Object.keys(headers).toSorted() }
    }
    expect(await send(target, host)).toEqual(await send('/monitoring?p=1', 'x'))
  })

  it('ignores an unknown Expect header', async () => {
    expect((await sendRaw(tunnel.port, `${POST}Host: x\r\nExpect: gold\r\n\r\n{}`)).status).toBe(200)
  })

  it('ignores an Upgrade header', async () => {
    const request = POST.replace('close', 'Upgrade, close')
    expect((await sendRaw(tunnel.port, `${request}Host: x\r\nUpgrade: websocket\r\n\r\n{}`)).status).toBe(200)
  })
})

describe('createPublicServer', () => {
  it('returns body-timeout when the headers do not arrive in time', async () => {
    await using server = await startServer({ headersTimeout: 50, connectionsCheckingInterval: 10 })
    expectRejection(await sendRaw(server.port, 'POST /monitoring HTTP/1.1\r\nHost: x\r\n'), 'body-timeout')
  })

  it('returns body-timeout when the request does not arrive in time', async () => {
    const options = { headersTimeout: 50, requestTimeout: 50, connectionsCheckingInterval: 10 }
    await using server = await startServer(options)
    expectRejection(await sendRaw(server.port, `${POST}Host: x\r\n\r\n{`), 'body-timeout')
  })

  it('closes connections above the limit, and idle ones so that others find room', async () => {
    await using server = await startServer({ maxConnections: 2 })
    const idle = await openIdle(server.port)
    const busy = await openBusy(server.port)
    const closed = [idle, connect(server.port, '127.0.0.1').resume()].map((socket) =>
      socket.on('error', () => {}),
    )
    await Promise.all(closed.map((socket) => once(socket, 'close')))
    expect(server.onFull).toHaveBeenCalled()
    const next = await openIdle(server.port)
    expect([busy.closed, next.closed]).toEqual([false, false])
    for (const socket of [busy, next]) socket.destroy()
  })

  it('has time for headers, and for a body', () => {
    expect(publicServerOptions(600_000)).toMatchObject({ headersTimeout: 10_000, requestTimeout: 615_000 })
  })

  it('closes the connection of a sender whose rejected envelope never ends', async () => {
    const rejected = { status: 403, headers: {}, body: '{}' }
    await using server = await startServer({ keepAliveTimeout: 600_000 }, async () => rejected)
    const sender = connect(server.port, '127.0.0.1').resume()
    sender.write('POST /monitoring HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx')
    await once(sender, 'close')
  })

  it('logs a bug of the pipeline and closes the connection', async () => {
    await using server = await startServer({}, () => Promise.reject(new Error('a bug')))
    const sender = connect(server.port, '127.0.0.1').resume()
    sender.write(`${POST}Host: x\r\n\r\n{}`)
    await once(sender, 'close')
    expect(server.bugs).toEqual(['a bug'])
  })

  it('closes the connection of a sender whose request never ends', async () => {
    await using server = await startServer({})
    const accepted = once(server.events, 'connection')
    const sender = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true }).resume()
    sender.on('error', () => {})
    sender.write('EHLO mail.example\r\n\r\n')
    const [socket]: Socket[] = await accepted
    expect(socket).toBeDefined()
    if (socket) await once(socket, 'close')
    sender.destroy()
  })
})

/** Opens a connection on which one request was answered. */
async function openIdle(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.write('POST /elsewhere HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n')
  await once(socket, 'data')
  return socket.resume()
}

/** Opens a connection with a request that the server has begun to read. */
async function openBusy(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').resume()
  await once(socket, 'connect')
  socket.write(POST)
  return socket
}

async function startServer(
  options: Partial<ReturnType<typeof publicServerOptions>>,
  handle: Ingest['handle'] = () => new Promise<HttpResponse>(() => {}),
) {
  const bugs: string[] = []
  const onFull = vi.fn()
  const deps = {
    app: new Hono() as App,
    ingest: { handle },
    allowedHosts: new AllowedHosts([]),
    envelopePaths: new Set(['/monitoring']),
    withoutBasePath: (target: string) => target,
    resolveClient: createClientResolver([], []),
    log: { logger: pino({}, { write: (line) => bugs.push(JSON.parse(line).err.message) }) },
    onFull,
  }
  const server = createPublicServer(deps, { ...publicServerOptions(60_000), ...options })
  return { ...(await listen(server)), bugs, events: server, onFull }
}
