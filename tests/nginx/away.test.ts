/** What nginx answers by itself while those behind it are away, slow or dying. */

import { once } from 'node:events'
import { request } from 'node:http'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Code, REFUSALS } from '../../tunnel/src/rejection.ts'
import { startLoad } from '../helpers/load.ts'
import { type Nginx, startNginx } from '../helpers/nginx.ts'
import { freePort } from '../helpers/ports.ts'
import { type Answered, post } from '../helpers/post.ts'
import { requires } from '../helpers/requirements.ts'
import { startTunnel } from '../helpers/tunnel.ts'
import { startUpstream } from './upstream.ts'

const NOBODY = '127.0.0.1:1'
const MAX = 1024 * 1024 // 1 MiB

describe('While nobody is behind it, nginx', requires('nginx'), () => {
  const started = new AsyncDisposableStack()
  let nginx: Nginx

  beforeAll(async () => {
    const env = { MAX_ENVELOPE_BYTES: String(MAX) }
    nginx = started.use(await startNginx({ tunnels: [NOBODY], web: NOBODY, env }))
  })

  afterAll(() => started.disposeAsync())

  it('says in JSON that no tunnel could be reached', async () => {
    expectRefusal(await post(nginx.url, { body: 'envelope' }), 'tunnel-away')
  })

  it('shows visitors a page that asks for patience', async () => {
    const answer = await post(nginx.url, { path: '/some/page', method: 'GET' })
    expect(answer.status).toBe(502)
    expect(answer.headers['content-type']).toBe('text/html; charset=utf-8')
    expect(answer.text).toMatch(/^<!doctype html>.*<h1>Back in a moment<\/h1>.*<\/html>$/)
    expect(answer.text).toContain(`Request ${answer.headers['x-request-id']}`)
    expect(answer.headers).not.toHaveProperty('retry-after')
  })

  it('refuses an envelope that is too large before it has come', async () => {
    expectRefusal(await announce(nginx.port, MAX + 1), 'envelope-too-large')
  })

  it('refuses headers that are too long', async () => {
    const headers = { 'x-long': 'x'.repeat(40_000) }
    expectRefusal(await post(nginx.url, { body: 'envelope', headers }), 'request-malformed')
  })

  it('refuses an envelope that turns out too large while it comes', async () => {
    const body = Readable.from([Buffer.alloc(MAX), Buffer.alloc(1)])
    expectRefusal(await post(nginx.url, { body }), 'envelope-too-large')
  })
})

describe('A tunnel', requires('nginx'), () => {
  it('that never answers gets an envelope once, and the sender hears of it', {
    timeout: 90_000,
  }, async () => {
    await using slow = await startUpstream('slow', () => {})
    await using other = await startUpstream('other', () => {})
    await using nginx = await startNginx({ tunnels: [slow.address, other.address], web: NOBODY })
    expectRefusal(await post(nginx.url, { body: 'envelope' }), 'tunnel-slow')
    expect(slow.asked.length + other.asked.length).toBe(1)
  })

  it('that hangs up has its envelope tried on another', async () => {
    await using rude = await startUpstream('rude', (_, response) => void response.destroy())
    await using kind = await startUpstream('kind')
    await using nginx = await startNginx({ tunnels: [rude.address, kind.address], web: NOBODY })
    const answers = await Promise.all(Array.from({ length: 8 }, () => post(nginx.url, { body: 'envelope' })))
    expect(answers.map(({ text }) => text)).toEqual(Array(8).fill('kind'))
    expect(rude.asked).not.toEqual([])
  })

  it('whose own refusal has a body of its own keeps it', async () => {
    await using tunnel = await startUpstream(
      'tunnel',
      (_, response) => void response.writeHead(413).end('mine'),
    )
    await using nginx = await startNginx({ tunnels: [tunnel.address], web: NOBODY })
    expect((await post(nginx.url, {})).text).toBe('mine')
  })

  it('that is killed under load, one of two, fails no request, nor when it comes back', {
    timeout: 60_000,
  }, async () => {
    const PORT = String(await freePort())
    await using steady = await startTunnel()
    const victim = await startTunnel({ env: { PORT } })
    await using nginx = await startNginx({
      tunnels: [`127.0.0.1:${steady.port}`, `127.0.0.1:${PORT}`],
      web: NOBODY,
    })
    const load = startLoad(nginx.url)
    await load.more(300)
    await victim.kill()
    await load.more(300)
    await using back = await startTunnel({ env: { PORT } })
    await back.log(({ msg }) => msg !== 'listening', 10_000)
    expect(await load.end()).toEqual([])
  })
})

/** The code's own status, sentence and fix, as the tunnel would have said it, and nothing that silences an SDK. */
function expectRefusal({ status, headers, json }: Answered, code: Code): void {
  const refusal = REFUSALS[code]
  expect(json).toEqual({
    detail: `${refusal.sentence} ${refusal.fix}`,
    code,
    causes: [],
    request_id: headers['x-request-id'],
  })
  expect(status).toBe(refusal.status)
  expect(headers['content-type']).toBe('application/json')
  expect(headers).not.toHaveProperty('retry-after')
}

/** Sends the headers of a post with that many bytes, and none of them. */
async function announce(port: number, length: number): Promise<Answered> {
  const sender = request({ port, path: '/monitoring', method: 'POST', headers: { 'content-length': length } })
  sender.on('error', () => {}).flushHeaders()
  const [response] = await once(sender, 'response')
  const text = (await response.setEncoding('utf8').toArray()).join('')
  sender.destroy()
  return { status: response.statusCode, headers: response.headers, text, json: JSON.parse(text) }
}
