/** Recipes of `deploy/proxies/` with the real programs, in front of two tunnels and the app of a site. */

import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { request, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Receipt } from '../../../contract/admin-api.ts'
import { replayEnvelope } from '../../../doctor/envelopes.ts'
import { buildSdk } from '../../../scripts/build/sdk.ts'
import { freePort } from '../../../scripts/start/free-port.ts'
import { randomHex } from '../../../tunnel/src/observe/random-hex.ts'
import { askDoctor } from '../../support/doctor/doctor.ts'
import { attachmentOf, errorOf } from '../../support/envelopes.ts'
import { ROOT } from '../../support/node.ts'
import { post } from '../../support/post.ts'
import { type Addresses, RECIPES, startRecipe } from '../../support/proxies/recipes.ts'
import { startUpstream, type Upstream } from '../../support/recording-server.ts'
import { requires } from '../../support/requirements.ts'
import { type Sentry, startSentry } from '../../support/sentry/sentry.ts'
import { makeFolder } from '../../support/temporary-folder.ts'
import { TOKEN } from '../../support/tunnel/running.ts'
import { startTunnel } from '../../support/tunnel/tunnel.ts'

const VISITOR = '127.0.0.9'
const FORGED = '198.51.100.7'
const FORGED_ID = 'f'.repeat(32)
/** Statuses of an envelope that Sentry or the spool has. */
const ACKNOWLEDGED = [200]
/** Stands for a connection that was closed without a response. */
const CLOSED = 0
const CLOSED_CODES: readonly unknown[] = ['UND_ERR_SOCKET', 'ECONNRESET']
const PAGE = '<!doctype html><title>Shop</title>'

const started = new AsyncDisposableStack()
let sentry: Sentry
let tunnels: [Replica, Replica]
let app: Upstream
let addresses: Addresses
let tokenFile: string
let closedPort: number

beforeAll(async () => {
  await buildSdk(ROOT)
  const { path: folder } = started.use(await makeFolder())
  tokenFile = join(folder, 'token')
  writeFileSync(tokenFile, TOKEN)
  closedPort = await freePort()
  sentry = started.use(await startSentry())
  sentry.allowAborts() // a killed tunnel may be sending
  const spool = `file://${folder}/spool.db` // that of one machine
  tunnels = [
    started.use(await startReplica({ SPOOL_URL: spool })),
    started.use(await startReplica({ SPOOL_URL: spool })),
  ]
  app = started.use(await startUpstream('app', respondWithPage))
  addresses = { tunnels: [tunnels[0].address, tunnels[1].address], app: app.address }
})

afterAll(() => started.disposeAsync())

for (const recipe of RECIPES)
  describe(`deploy/proxies/${recipe.file}`, requires(recipe.requirement), () => {
    let proxy: Awaited<ReturnType<typeof startRecipe>>

    beforeAll(async () => {
      proxy = await startRecipe(recipe, addresses)
    })

    afterAll(() => proxy[Symbol.asyncDispose]())

    it.each([
      ['forges headers', {}],
      ['asks for their removal too', { connection: 'close, x-forwarded-for' }],
    ])(
      'forwards the address of a visitor who %s, no credentials and no headers of Culvert',
      async (_, more) => {
        const event_id = randomHex()
        const body = errorOf(sentry.dsn(), { event_id })
        const answer = await postForged(proxy.url, body, more)
        expect(answer.status).toBeOneOf(ACKNOWLEDGED)
        expect(answer.requestId).not.toBe(FORGED_ID)
        const { headers } = await sentry.next(({ header }) => header.event_id === event_id)
        expect(headers['x-forwarded-for']).toBe(VISITOR)
        expect(JSON.stringify(headers)).not.toContain(FORGED)
        expect(await receiptOf(event_id)).not.toHaveProperty('flags')
      },
    )

    it.each([
      ['a gzip body', (dsn: string) => gzipSync(errorOf(dsn)), { 'content-encoding': 'gzip' }],
      ['a binary replay', (dsn: string) => replayEnvelope(dsn, { id: randomHex(), now: Date.now() }), {}],
      [
        'an attachment of 20 MB',
        (dsn: string) => attachmentOf(dsn, Buffer.alloc(20_000_000, '\0\xff', 'latin1')),
        {},
      ],
    ])('forwards %s unmodified', async (_, build, headers) => {
      const body = build(sentry.dsn())
      expect((await post(proxy.url, { body, headers })).status).toBeOneOf(ACKNOWLEDGED)
      await sentry.next((received) => received.body.equals(body))
    })

    it.each([1, 5])('answers with 413 to a body of %i GiB before it arrives', async (gib) => {
      const headers = { 'content-length': gib * 2 ** 30, connection: 'close' } // else Caddy waits for the next bytes
      const upload = request(`${proxy.url}/monitoring`, { method: 'POST', headers }).on('error', () => {})
      upload.flushHeaders()
      const [response] = await once(upload, 'response')
      expect(response.statusCode).toBe(413)
      upload.destroy()
    })

    it('forwards the query, and the rejection of a query of another project', async () => {
      const answer = await post(proxy.url, { path: '/monitoring?p=999', body: errorOf(sentry.dsn()) })
      expect(answer).toMatchObject({ status: 400, json: { code: 'query-mismatch' } })
    })

    it('sends other paths to the app', async () => {
      expect(await (await fetch(`${proxy.url}/monitoring-room`)).text()).toBe(PAGE)
    })

    it('forwards an upload while it arrives, and its end when the visitor aborts it', async () => {
      const event_id = randomHex()
      const body = attachmentOf(sentry.dsn(), Buffer.alloc(200_000), { event_id })
      const headers = { 'content-length': body.length }
      await expect.poll(countInFlight).toBe(0) // earlier requests have ended
      const upload = request(`${proxy.url}/monitoring`, { method: 'POST', headers })
      upload.on('error', () => {})
      upload.write(body.subarray(0, 100_000))
      await expect.poll(countInFlight).toBe(1)
      upload.destroy()
      expect(await receiptOf(event_id)).toMatchObject({ outcome: 'aborted' })
    })

    it('sends a post to one tunnel only when that dies with it, and responds with 502', async () => {
      await using first: Upstream = await startMortal(() => first)
      await using second: Upstream = await startMortal(() => second)
      await using own = await startRecipe(recipe, { ...addresses, tunnels: [first.address, second.address] })
      expect(await post(own.url, { body: errorOf(sentry.dsn()) })).toMatchObject({ status: 502 })
      const posts = [...first.asked, ...second.asked].filter(({ method }) => method === 'POST')
      expect(posts).toMatchObject([{ headers: { connection: 'close' } }]) // not reused: it may lead to a tunnel that has stopped
    })

    it('spreads posts over both tunnels', async () => {
      const sent = (await sendErrors(proxy.url, 16)).map(({ event_id }) => event_id)
      await expect
        .poll(() =>
          tunnels.map(({ receipts }) => receipts().some(({ event_id = '' }) => sent.includes(event_id))),
        )
        .toEqual([true, true])
    })

    it('uses the other tunnel when one is killed, and loses nothing that was acknowledged', async () => {
      const [, killed] = tunnels
      const sending = sendErrors(proxy.url, 32)
      await killed.kill()
      const during = await sending
      if (recipe.needsHealthCheck)
        await expect.poll(async () => (await sendErrors(proxy.url, 4)).every(isAcknowledged)).toBe(true)
      const after = await sendErrors(proxy.url, 16)
      await killed.restart()

      expect(after.filter((sent) => !isAcknowledged(sent))).toEqual([])
      expect(during.filter((sent) => !isAcknowledged(sent) && ![502, CLOSED].includes(sent.status))).toEqual(
        [],
      )
      const acknowledged = [...during, ...after].filter(isAcknowledged)
      await expect.poll(() => acknowledged.filter(({ event_id }) => !isAtSentry(event_id))).toEqual([])
    })

    it('has no failure in npm run doctor', async () => {
      const flags = ['--dsn', sentry.dsn(), '--path', '/monitoring', '--closed', `${closedPort}`]
      const admin = tunnels.flatMap(({ tunnel }) => ['--admin', tunnel().adminUrl])
      const { code, checks } = await askDoctor(
        ...[proxy.url, '--json', ...flags, ...admin, '--token-file', tokenFile],
      )
      expect(checks.filter(({ result }) => result === 'fail')).toEqual([])
      expect(code).toBe(0)
    })
  })

type Replica = Awaited<ReturnType<typeof startReplica>>

/** Starts a tunnel that can be killed and started again on its port. */
async function startReplica(env: Record<string, string>) {
  const port = await freePort()
  const start = () => startTunnel({ env: { PORT: `${port}`, SENTRY_DSN: sentry.dsn(), ...env } })
  let tunnel = await start()
  return {
    address: `127.0.0.1:${port}`,
    tunnel: () => tunnel,
    receipts: () => tunnel.receipts,
    kill: () => tunnel.kill(),
    async restart(): Promise<void> {
      tunnel = await start()
    },
    [Symbol.asyncDispose]: () => tunnel.stop(),
  }
}

/** Starts a server that dies when it has received a post. A health check gets the response of a tunnel. */
function startMortal(itself: () => Upstream): Promise<Upstream> {
  return startUpstream('mortal', ({ method }, response) => {
    if (method === 'POST') itself().die()
    else response.writeHead(method === 'OPTIONS' ? 204 : 405).end()
  })
}

/** Sends the page of the site, compressed. */
function respondWithPage(_: unknown, response: ServerResponse): void {
  response.setHeader('content-type', 'text/html; charset=utf-8')
  response.setHeader('content-encoding', 'gzip')
  response.end(gzipSync(PAGE))
}

/** Posts `body` with everything that a visitor could make up. */
async function postForged(
  url: string,
  body: Buffer,
  more: Record<string, string>,
): Promise<{ status: number; requestId: string | undefined }> {
  const headers = {
    origin: url, // without Sec-Fetch-Site, the tunnel compares it with Host
    'x-forwarded-for': [FORGED, FORGED],
    'x-real-ip': FORGED,
    'x-sentry-forwarded-for': FORGED,
    forwarded: `for=${FORGED}`,
    'x-culvert-retry': '1',
    'x-request-id': FORGED_ID,
    cookie: 'session=1',
    authorization: 'Bearer 1',
    ...more,
  }
  const posting = request(`${url}/monitoring`, { method: 'POST', localAddress: VISITOR, headers }).end(body)
  const [response] = await once(posting, 'response')
  await once(response.resume(), 'end')
  return { status: response.statusCode, requestId: response.headers['x-request-id'] }
}

type Sent = { event_id: string; status: number }

/** Posts errors at the same time, each with an ID of its own. */
function sendErrors(url: string, count: number): Promise<Sent[]> {
  const posts = Array.from({ length: count }, async () => {
    const event_id = randomHex()
    const answer = post(url, { body: errorOf(sentry.dsn(), { event_id }) })
    return { event_id, status: await answer.then(({ status }) => status, statusOfFailure) }
  })
  return Promise.all(posts)
}

/** Accepts a connection that was closed without a response. */
function statusOfFailure(error: unknown): number {
  const isClosed = error instanceof Error && 'code' in error && CLOSED_CODES.includes(error.code)
  if (isClosed) return CLOSED
  throw error
}

function isAcknowledged({ status }: Sent): boolean {
  return ACKNOWLEDGED.includes(status)
}

function isAtSentry(id: string): boolean {
  return sentry.requests.some(({ header }) => header.event_id === id)
}

/** Waits for the receipt of an envelope from either tunnel. */
async function receiptOf(id: string): Promise<Receipt | undefined> {
  const find = () => tunnels.flatMap(({ receipts }) => receipts()).find(({ event_id }) => event_id === id)
  await expect.poll(find).toBeDefined()
  return find()
}

/** Returns the number of envelopes that both tunnels are receiving or sending. */
async function countInFlight(): Promise<number> {
  const statuses = await Promise.all(
    tunnels.map(
      async ({ tunnel }) => (await tunnel().admin('/status')).json() as Promise<{ in_flight: number }>,
    ),
  )
  return statuses.reduce((sum, { in_flight }) => sum + in_flight, 0)
}
