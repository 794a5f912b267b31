/** Reports of web's server contain data of the failed request only. */

import { EventEmitter, once } from 'node:events'
import { createServer } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listen } from '../../support/listen.ts'
import { eventOf, hasItem, type Received, receive } from '../../support/sentry/received-request.ts'
import { type FakeTunnel, startFakeTunnel } from '../../support/tunnel/fake-admin-port.ts'
import { until } from '../../support/until.ts'
import { get, PASSWORD, signIn } from '../../support/web/operator.ts'
import { BREAKABLE, startWeb, type Web } from '../../support/web/web.ts'

/** Writes a line to the console repeatedly, outside of any request. */
const TICKING = '--import=data:text/javascript,setInterval(()=>console.info(`outside`),20).unref()'

const PATIENCE = 90_000 // the machine may be busy

const TOKENS = { early: 'a'.repeat(32), pending: 'b'.repeat(32) }

/** Records the requests of web to the tunnel. */
async function startRecorder() {
  const requests: Received[] = []
  const arrivals = new EventEmitter<{ request: [] }>()
  const server = createServer(async (request, response) => {
    requests.push(await receive(request))
    response.end('{}')
    arrivals.emit('request')
  })
  const listening = await listen(server)
  return {
    ...listening,
    origin: `http://127.0.0.1:${listening.port}`,
    requests,
    /** Resolves with the first recorded envelope, past or to come, that `isWanted` accepts. */
    async first(isWanted: (received: Received) => boolean): Promise<Received> {
      for (;;) {
        const found = requests.find(isWanted)
        if (found) return found
        await once(arrivals, 'request', { signal: AbortSignal.timeout(PATIENCE) })
      }
    },
  }
}

describe.each([
  ['without tracing', {}],
  ['with tracing', { SENTRY_TRACES_SAMPLE_RATE: '1' }],
])('A report of the server of web, %s', (_, tracing) => {
  const started = new AsyncDisposableStack()
  let recorder: Awaited<ReturnType<typeof startRecorder>>
  let tunnel: FakeTunnel
  let web: Web
  const held = new EventEmitter<{ pending: []; release: [] }>()

  beforeAll(async () => {
    recorder = started.use(await startRecorder())
    tunnel = started.use(
      await startFakeTunnel('one', {
        'GET /rejections': (_request, response) => response.end('{"rejections":[],"times":[],"settings":{}}'),
        'GET /projects': (_request, response) => response.end('{"projects":[]}'),
        'GET /inbox/groups': (_request, response) =>
          response.end('{"inbox":"i","groups":[],"releases":[],"environments":[]}'),
        'GET /receipts': (_request, response) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' })
          response.write(': welcome\n\n')
        },
        [`GET /receipts/${TOKENS.early}`]: (_request, response) => response.end('{}'),
        [`GET /receipts/${TOKENS.pending}`]: (_request, response) => {
          held.once('release', () => response.end('{}'))
          held.emit('pending')
        },
      }),
    )
    web = started.use(
      await startWeb({
        ...tracing,
        NODE_OPTIONS: `${BREAKABLE} ${TICKING}`,
        OPERATOR_PASSWORD: PASSWORD,
        ADMIN_TOKEN: 'token-of-the-tests',
        TUNNEL_ADMIN: new URL(tunnel.adminUrl).host,
        TUNNEL_ORIGIN: recorder.origin,
      }),
    )
  }, 300_000)

  afterAll(() => started.disposeAsync())

  const breakServer = async (number: number) =>
    expect((await fetch(`${web.url}/?break&number=${number}`)).status).toBe(500)
  const reportOf = (number: number) =>
    recorder.first(
      (received) => hasItem('event')(received) && String(received.decoded).includes(`number=${number}`),
    )

  it('has no breadcrumb or span of another request or of the admin port', async () => {
    const ticks = () => web.said.stdout.split('outside').length
    const before = ticks()
    await until(async () => ticks() > before)
    const { cookie } = await signIn(web.url)
    await (await fetch(`${web.url}/console/public/receipt.json?token=${TOKENS.early}`)).text()
    for (const path of ['', '/rejections', '/projects', '/inbox'])
      await (await get(`${web.url}/console${path}`, cookie)).text()
    const feed = await get(`${web.url}/console/receipts`, cookie)
    await feed.body?.getReader().read()
    await breakServer(1)

    const isPending = once(held, 'pending')
    const pending = fetch(`${web.url}/console/public/receipt.json?token=${TOKENS.pending}`)
    await isPending
    await breakServer(2)
    held.emit('release')
    await (await pending).text()
    await breakServer(3)

    expect(tunnel.asked.filter((each) => each.startsWith('GET /receipts'))).toEqual(
      expect.arrayContaining([expect.stringMatching(/newest=/), `GET /receipts/${TOKENS.pending}`]),
    )
    for (const number of [1, 2, 3]) {
      const { breadcrumbs = [] } = eventOf(await reportOf(number))
      const others = JSON.stringify(breadcrumbs)
      expect(others).not.toContain(new URL(tunnel.adminUrl).host)
      expect(others).not.toContain('receipts')
      for (const other of [1, 2, 3].filter((each) => each !== number))
        expect(others).not.toContain(`number=${other}`)
      expect(breadcrumbs.length).toBeLessThanOrEqual(1) // log line of Next.js about the error
    }
    await web.stop() // sends the pending reports
    const told = recorder.requests.map(({ decoded }) => String(decoded)).join('\n')
    for (const secret of [new URL(tunnel.adminUrl).host, ...Object.values(TOKENS)])
      expect(told).not.toContain(secret)
    if ('SENTRY_TRACES_SAMPLE_RATE' in tracing) expect(told).toContain('"type":"transaction"')
  })
})
