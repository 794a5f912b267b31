/**
 * A site, Culvert and Bugsink by one command: an error of a real browser becomes an issue. Tunnels of this machine use the same Bugsink: what
 * arrives after an outage, beside a wrong key, over a quota, and of CSP reports.
 */

import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { describe, expect } from 'vitest'
import { freePort } from '../../scripts/start/free-port.ts'
import { startChromium } from '../support/browser/chromium.ts'
import { type Bugsink, openBugsink, writeOverride } from '../support/docker/bugsink.ts'
import { it as base } from '../support/docker/fixtures.ts'
import { envelopeOf } from '../support/envelopes.ts'
import { endWith, perFile } from '../support/lifetime.ts'
import { type Answered, post } from '../support/post.ts'
import { requires } from '../support/requirements.ts'
import { startTunnel, type Tunnel } from '../support/tunnel/tunnel.ts'
import { openProxy } from '../support/visitor-proxy.ts'

const QUOTA = 150

const it = base
  .extend('bugsinkPort', perFile, () => freePort())
  .extend('composeOptions', perFile, ({ folder, bugsinkPort }) => {
    const settings = { MAX_EVENTS_PER_PROJECT_PER_5_MINUTES: String(QUOTA) }
    const override = writeOverride(folder, bugsinkPort, settings)
    return { env: { COMPOSE_FILE: `docker-compose.yml:deploy/bugsink.yml:${override}`, LAB: 'on' } }
  })
  .extend('bugsink', perFile, ({ stack, bugsinkPort }) => openBugsink(stack, bugsinkPort))
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the names of other fixtures from the pattern
  .extend('chromium', perFile, async ({}, lifetime) => endWith(lifetime, await startChromium()))
  .extend('visitor', async ({ chromium }, lifetime) => endWith(lifetime, await chromium.visitor()))

const ENCODERS = {
  gzip: gzipSync,
  br: brotliCompressSync,
  plain: (bytes: Buffer) => bytes,
} as const
type Encoding = keyof typeof ENCODERS

function errorWith(dsn: string, id: string, message: string): Buffer {
  const payload = {
    event_id: id,
    level: 'error',
    message,
    platform: 'javascript',
    timestamp: Date.now() / 1000,
  }
  const parts = [{ header: { type: 'event' }, payload: JSON.stringify(payload) }]
  return envelopeOf({ event_id: id, dsn, sent_at: new Date().toISOString() }, parts)
}

type Sent = { id: string; heard: Answered; ms: number }

const newId = () => randomUUID().replaceAll('-', '')

/** Posts an error from an address of the internet. */
async function report(
  tunnel: Tunnel,
  dsn: string,
  { encoding = 'plain', message = 'a drill' }: { encoding?: Encoding; message?: string } = {},
): Promise<Sent> {
  const id = newId()
  const body = ENCODERS[encoding](errorWith(dsn, id, message))
  const start = performance.now()
  const heard = await post(tunnel.url, {
    headers: {
      'x-forwarded-for': '203.0.113.7',
      ...(encoding !== 'plain' && { 'content-encoding': encoding }),
    },
    body,
  })
  return { id, heard, ms: performance.now() - start }
}

/** Posts an error as an SDK without a tunnel does. */
async function reportDirectly(bugsink: Bugsink, dsn: string): Promise<Sent> {
  const id = newId()
  const { pathname, username } = new URL(dsn)
  const path = `/api${pathname}/envelope/?sentry_version=7&sentry_key=${username}`
  const start = performance.now()
  const heard = await post(bugsink.url, { path, body: errorWith(dsn, id, 'a drill') })
  return { id, heard, ms: performance.now() - start }
}

/** Sends 20 errors a second with a wrong key for 3 s, and half as many with the right one. Returns the latter. */
async function sendBeside(bugsink: Bugsink, send: (dsn: string) => Promise<Sent>): Promise<Sent[]> {
  const wrong = bugsink.dsn({ project: '2' })
  const good: Promise<Sent>[] = []
  const bad: Promise<Sent>[] = []
  for (let i = 0; i < 60; i++) {
    bad.push(send(wrong))
    if (i % 2 === 0) good.push(send(bugsink.dsn()))
    await sleep(50)
  }
  await Promise.all(bad)
  return Promise.all(good)
}

function p95(sent: readonly Sent[]): number {
  const durations = sent.map(({ ms }) => ms).sort((a, b) => a - b)
  return durations[Math.ceil(durations.length * 0.95) - 1] ?? Infinity
}

/** Resolves when Bugsink has stored all of these. */
async function stored(bugsink: Bugsink, ids: readonly string[]): Promise<void> {
  const missing = async () => {
    const events = new Set(await bugsink.events())
    return ids.filter((id) => !events.has(id))
  }
  await expect.poll(missing, { interval: 1_000, timeout: 120_000 }).toEqual([])
}

describe('deploy/bugsink.yml', requires('docker', 'bugsink', 'chromium'), () => {
  it('gives a site whose errors Bugsink shows as issues, without a set-up', async ({
    stack,
    visitor,
    bugsink,
  }) => {
    const { page } = visitor
    await page.goto(`${stack.siteUrl}/lab`)
    visitor.allowTrouble(/./) // the errors that the lab throws
    await page.getByRole('button', { name: 'Throw an error' }).click()
    const titles = () =>
      bugsink.manage(
        'from issues.models import Issue; print(" | ".join(i.title() for i in Issue.objects.all()))',
      )
    await expect.poll(titles, { interval: 1_000, timeout: 120_000 }).toContain('Thrown on purpose')

    const log = await stack.compose('logs', '--no-color', 'bugsink-setup')
    const [, user = '', password = ''] = /user (\S+), password (\S+)/.exec(log) ?? []
    await page.goto(`http://localhost:${bugsink.port}/`)
    await page.locator('[name=username]').fill(user)
    await page.locator('[name=password]').fill(password)
    await page.getByRole('button', { name: 'Login' }).click()
    await page.waitForURL((url) => !url.pathname.includes('login'))
    await page.goto(`http://localhost:${bugsink.port}/issues/1/`)
    await page
      .getByRole('link', { name: /Thrown on purpose/ })
      .first()
      .click()
    await page
      .getByText(/Thrown on purpose/)
      .first()
      .waitFor()
    expect(new URL(page.url()).pathname).toMatch(/^\/issues\/issue\//)
  })
})

describe('With a real Bugsink', requires('docker', 'bugsink'), () => {
  it('every error of an outage arrives, however it was compressed, and also scrubbed', async ({
    bugsink,
  }) => {
    const port = await freePort() // nothing listens there at first
    const dsn = bugsink.dsn({ port })
    await using tunnel = await startTunnel({ env: { SENTRY_DSN: dsn, SCRUB: 'default' } })
    const sent: string[] = []
    for (let i = 0; i < 3; i++)
      for (const encoding of ['gzip', 'br', 'plain'] as const) {
        const { id, heard } = await report(tunnel, dsn, {
          encoding,
          message: `of an outage: ${i} by jane@shop.example, ${'x'.repeat(40_000)}`,
        })
        expect(heard).toMatchObject({ status: 200, outcome: 'spooled' })
        sent.push(id)
      }
    await using _bugsinkIsBack = await openProxy(bugsink.port, port)
    await stored(bugsink, sent)
    const scrubbed = await bugsink.manage(
      'from events.models import Event; print(sum("jane@" in e.get_raw_data() for e in Event.objects.all()))',
    )
    expect(scrubbed).toBe('0')
  })

  it('the address of the visitor arrives', async ({ bugsink }) => {
    await using tunnel = await startTunnel({ env: { SENTRY_DSN: bugsink.dsn() } })
    const { id } = await report(tunnel, bugsink.dsn())
    await stored(bugsink, [id])
    const address = await bugsink.manage(
      `from events.models import Event; print(Event.objects.get(event_id="${id}").remote_addr)`,
    )
    expect(address).toBe('203.0.113.7')
  })

  it('a project with a wrong key does not delay another one', async ({ bugsink }) => {
    const wrong = bugsink.dsn({ project: '2' })
    await using tunnel = await startTunnel({ env: { SENTRY_DSN: `${bugsink.dsn()} ${wrong}` } })
    const direct = await sendBeside(bugsink, (dsn) => reportDirectly(bugsink, dsn))
    const through = await sendBeside(bugsink, (dsn) => report(tunnel, dsn))
    expect(through.filter(({ heard }) => heard.outcome === 'spooled')).toEqual([]) // the sender got Bugsink's response
    expect(p95(through)).toBeLessThan(p95(direct) + 1_000) // on a busy machine Bugsink itself takes seconds
    await stored(
      bugsink,
      through.map(({ id }) => id),
    )
  })

  it('a CSP report makes an issue, also when it is the first post', async ({ bugsink }) => {
    await using tunnel = await startTunnel({ env: { SENTRY_DSN: bugsink.dsn() } })
    const report = {
      'document-uri': 'https://shop.example/cart',
      'blocked-uri': 'https://evil.example/x.js',
      'effective-directive': 'script-src-elem',
      'violated-directive': 'script-src-elem',
    }
    const heard = await post(tunnel.url, {
      path: '/monitoring/reports?p=1',
      headers: { host: 'shop.example', 'content-type': 'application/csp-report' },
      body: JSON.stringify({ 'csp-report': report }),
    })
    expect(heard.status).toBeLessThan(300)
    const issues = () =>
      bugsink.manage(
        'from issues.models import Issue; print(Issue.objects.filter(calculated_type="CSP").count())',
      )
    await expect.poll(issues, { interval: 1_000, timeout: 120_000 }).toBe('1')
  })

  it('transactions are no degradation, and a quota stop is one, with its end', async ({ bugsink }) => {
    await using tunnel = await startTunnel({ env: { SENTRY_DSN: bugsink.dsn() } })
    await report(tunnel, bugsink.dsn())
    const limits = async () => (await (await tunnel.admin('/status')).json()).limits
    expect(await limits()).toMatchObject([
      { category: 'transaction', standing: true },
      { category: 'span', standing: true },
    ])
    await expect
      .poll(
        async () => {
          await Promise.all(Array.from({ length: 40 }, () => report(tunnel, bugsink.dsn())))
          return (await limits()).filter(({ standing = false }) => !standing)
        },
        { interval: 1_000, timeout: 120_000 },
      )
      .toMatchObject([{ category: 'all' }])
    const { heard } = await report(tunnel, bugsink.dsn())
    expect(heard.status).toBe(429)
    expect(heard.headers['x-sentry-rate-limits']).toMatch(/^\d+:error:/)
  })
})
