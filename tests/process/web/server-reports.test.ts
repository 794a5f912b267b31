/** Errors of web's own server, reported through the internal port of nginx. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { requires } from '../../support/requirements.ts'
import { eventOf, hasItem, type Received } from '../../support/sentry/received-request.ts'
import { readCertificate, type Sentry, startSentry } from '../../support/sentry/sentry.ts'
import { cloud, type Site, startSite } from '../../support/site.ts'
import { BREAKABLE } from '../../support/web/web.ts'

describe('An error of the server of web', requires('nginx'), () => {
  const started = new AsyncDisposableStack()
  let sentry: Sentry
  let site: Site
  let url: string

  beforeAll(async () => {
    sentry = started.use(await startSentry({ tls: readCertificate() }))
    const { env, reroute } = cloud(sentry)
    const settings = {
      ...env,
      NODE_OPTIONS: BREAKABLE,
      SENTRY_ENVIRONMENT: 'staging',
      SENTRY_RELEASE: 'shop@1.2.3',
      SENTRY_TRACES_SAMPLE_RATE: '1',
    }
    site = started.use(await startSite({ env: settings, reroute, replicas: 2 }))
    url = `http://127.0.0.1:${site.port}`
  }, 180_000)

  afterAll(() => started.disposeAsync())

  /** Makes the server fail on one page, with a number that identifies the error. */
  async function breakServer(number: number): Promise<void> {
    const response = await fetch(`${url}/?break&number=${number}`, {
      headers: { cookie: 'session=of-the-visitor' },
    })
    expect(response.status).toBe(500)
    await response.text()
  }

  it('is reported to Sentry without a client address and without headers of the visitor', async () => {
    await breakServer(1)
    const received = await sentry.next(hasItem('event'))
    expect(eventOf(received)).toMatchObject({
      environment: 'staging',
      release: 'shop@1.2.3',
      contexts: { nextjs: { request_path: '/?break=&number=1', route_type: 'render' } },
      exception: { values: [{ value: 'broken for a test' }] },
    })
    expect(received.headers['user-agent']).toMatch(/^sentry\.javascript\.nextjs\//)
    expect(Object.keys(received.headers).filter((name) => name.includes('forwarded'))).toEqual([])
    expect(String(received.decoded)).not.toContain('of-the-visitor')
  })

  it('has frames with the lines of the source code', async () => {
    const page = await (await fetch(`${url}/lab`)).text()
    const [pass = ''] = /\d{13}\.[\da-f]{24}\.[\da-f]{64}/.exec(page) ?? []
    const query = new URLSearchParams({ pass, reference: '0123abcd' })
    expect((await fetch(`${url}/lab/route-handler?${query}`, { method: 'POST' })).status).toBe(500)
    const isOfLab = ({ decoded }: Received) => String(decoded).includes('Thrown on purpose')
    const { exception } = eventOf(await sentry.next((each) => hasItem('event')(each) && isOfLab(each)))
    expect(exception.values[0].stacktrace.frames.at(-1)).toMatchObject({
      ...{ filename: 'app:///web/features/lab/access.ts', lineno: expect.any(Number), in_app: true },
      context_line: expect.stringContaining('new Error(`Thrown on purpose'),
    })
  })

  it('is not lost when one of two tunnels is killed, also in large numbers', async () => {
    const numbers = Array.from({ length: 120 }, (_, index) => 1000 + index)
    sentry.allowAborts()
    const killed = breakServer(999).then(() => site.tunnel.kill())
    for (let first = 0; first < numbers.length; first += 12)
      await Promise.all(numbers.slice(first, first + 12).map(breakServer))
    await killed
    const missing = new Set([999, ...numbers])
    while (missing.size > 0) missing.delete(numberOf(await sentry.next(hasItem('event'))))
  })

  it('is not lost when web is stopped right after it', async () => {
    await breakServer(2000)
    await site.web.stop()
    await sentry.next((received) => hasItem('event')(received) && numberOf(received) === 2000)
  })
})

function numberOf(received: Received): number {
  return Number(/number=(\d+)/.exec(eventOf(received).contexts.nextjs.request_path)?.[1])
}
