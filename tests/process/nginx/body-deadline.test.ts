/** Deadline for a complete body while many requests are open: it ends slow ones only, and retries are unaffected. */

import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { startNginx } from '../../support/nginx/nginx.ts'
import { post } from '../../support/post.ts'
import { startUpstream } from '../../support/recording-server.ts'
import { requires } from '../../support/requirements.ts'

const OPEN = 120 // number of open requests above which nginx applies the deadline
const PIECE_MS = 30
const HEAD = 'POST /monitoring HTTP/1.1\r\nHost: shop.example\r\nContent-Length:'

/** Times at which nginx checks if the body has arrived, with shorter replacements, and a path that returns the number of open requests. */
const CHANGES = {
  '    location @tunnel_busy {': `    location = /open { return 200 $connections_writing; }\n    location @tunnel_busy {`,
  '    resolver_timeout 2500ms;': '    resolver_timeout 100ms;',
  '    resolver_timeout 12s;': '    resolver_timeout 100ms;',
}

let started = new AsyncDisposableStack()

afterEach(async () => {
  await started.disposeAsync()
  started = new AsyncDisposableStack()
})

describe('While many requests are open, nginx', requires('nginx'), () => {
  it('forwards a body that arrives in chunks, and closes the connection', async () => {
    const tunnel = started.use(await startUpstream('tunnel'))
    const nginx = await startBusy([tunnel.address])
    const pieces = Array.from({ length: 8 }, (_, n) => String(n).padEnd(30_000, '.'))
    const response = await sendPieces(nginx.port, pieces)
    expect(response).toMatch(/^HTTP\/1\.1 200 OK\r\n.*\r\nConnection: close\r\n.*tunnel/s)
    expect(tunnel.asked.map(({ body }) => String(body))).toEqual([pieces.join('')])
  })

  it('sends a body that arrived in chunks to another replica when the first one dies with it', async () => {
    const rude = started.use(await startUpstream('rude', (_, response) => void response.destroy()))
    const kind = started.use(await startUpstream('kind'))
    const nginx = await startBusy([rude.address, kind.address])
    const pieces = ['first ', 'second ', 'third']
    for (let n = 0; n < 4; n++) expect(await sendPieces(nginx.port, pieces)).toContain('kind')
    expect(rude.asked).not.toEqual([])
    for (const { body } of [...rude.asked, ...kind.asked]) expect(String(body)).toBe(pieces.join(''))
    const marks = kind.asked.map(({ headers }) => headers['x-culvert-retry'])
    expect(marks).toContain('1')
  })

  it('ends a request whose body has not arrived before the deadline, and logs it as 408', async () => {
    const tunnel = started.use(await startUpstream('tunnel'))
    const nginx = await startBusy([tunnel.address])
    expect(await sendPieces(nginx.port, Array<string>(200).fill('x'))).toBe('')
    await vi.waitFor(() => expect(nginx.logged()).toContainEqual(expect.objectContaining({ status: 408 })), {
      timeout: 60_000,
    })
    expect(tunnel.asked).toEqual([])
    expect((await post(nginx.url, { body: 'envelope' })).text).toBe('tunnel')
  })

  it('waits for the response of a slow tunnel after the deadline', async () => {
    const slow = started.use(
      await startUpstream('slow', (_, response) => void setTimeout(() => response.end('slow'), 2_000)),
    )
    const nginx = await startBusy([slow.address])
    expect(await sendPieces(nginx.port, ['first ', 'second'])).toContain('slow')
    expect(slow.asked).toHaveLength(1)
  })

  /** Starts nginx with a short deadline, and opens many requests to web, which has no deadline. */
  async function startBusy(tunnels: string[]) {
    const env = { BODY_TIMEOUT_MS: '1000' }
    const nginx = started.use(await startNginx({ tunnels, web: '127.0.0.1:1', env, change: applyChanges }))
    const sockets = Array.from({ length: OPEN }, () => connect(nginx.port, '127.0.0.1').on('error', () => {}))
    started.defer(() => {
      for (const socket of sockets) socket.destroy()
    })
    await Promise.all(sockets.map((socket) => once(socket, 'connect')))
    for (const socket of sockets)
      socket.write('POST / HTTP/1.1\r\nHost: shop.example\r\nContent-Length: 8\r\n\r\ne')
    await expect
      .poll(async () => Number(await (await fetch(`${nginx.url}/open`)).text()))
      .toBeGreaterThanOrEqual(OPEN)
    return nginx
  }
})

/** Sends the chunks one by one. Resolves with the response when nginx closes the connection. */
async function sendPieces(port: number, pieces: readonly string[]): Promise<string> {
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  let response = ''
  socket.setEncoding('utf8').on('data', (text: string) => {
    response += text
  })
  const closed = once(socket, 'close')
  socket.write(`${HEAD} ${pieces.join('').length}\r\n\r\n`)
  for (const piece of pieces) {
    await sleep(PIECE_MS)
    if (socket.destroyed) break
    socket.write(piece)
  }
  await closed
  return response
}

function applyChanges(config: string): string {
  return Object.entries(CHANGES).reduce((text, [shipped, changed]) => {
    expect(text).toContain(shipped)
    return text.replace(shipped, changed)
  }, config)
}
