/** Caddy in front of nginx. The name localhost gets a certificate without Let's Encrypt. */

import { writeFileSync } from 'node:fs'
import { type RequestOptions, request } from 'node:https'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, vi } from 'vitest'
import { INBOX_DSN } from '../../contract/dsn.ts'
import { freePort } from '../../scripts/start/free-port.ts'
import { it as base } from '../support/docker/fixtures.ts'
import { errorOf } from '../support/envelopes.ts'
import { perFile } from '../support/lifetime.ts'
import { CADDY_PROGRAM, requires } from '../support/requirements.ts'

const AUTHORITY = '/data/caddy/pki/authorities/local/root.crt'
const STRANGER = '203.0.113.9'

const it = base
  .extend('port', perFile, () => freePort())
  .extend('composeOptions', perFile, ({ folder, port }) => {
    const override = join(folder, 'caddy.yml')
    const image = process.env.NODE_IMAGE || 'node:24-slim' // with this machine's binary it stands in for the image of Caddy
    const volumes = `["${CADDY_PROGRAM}:/usr/bin/caddy:ro"]`
    const ports = `!override ["127.0.0.1:${port}:443"]`
    writeFileSync(override, `services: { caddy: { image: ${image}, volumes: ${volumes}, ports: ${ports} } }`)
    const COMPOSE_FILE = `docker-compose.yml:deploy/caddy.yml:${override}`
    return { env: { COMPOSE_FILE, SITE: 'localhost' } }
  })

describe('Caddy in front, with deploy/caddy.yml', requires('docker', 'caddy'), () => {
  it('sends pages and envelopes on, with the address of the visitor', async ({ stack, port }) => {
    const ca = await vi.waitFor(() => stack.compose('exec', '-T', 'caddy', 'cat', AUTHORITY), 30_000)
    const connection = { host: '127.0.0.1', servername: 'localhost', port, ca }
    const headers = { host: 'localhost', 'x-forwarded-for': STRANGER }
    expect(await ask({ ...connection, headers, path: '/' })).toMatchObject({ status: 200 })
    const envelope = errorOf(INBOX_DSN, { event_id: 'c'.repeat(32) })
    const posting = { ...connection, headers, method: 'POST', path: '/monitoring' }
    expect(await ask(posting, envelope)).toMatchObject({ status: 200 })
    const [entry] = await stack.inbox()
    expect(entry?.event_id).toBe('c'.repeat(32))
    const clients = await vi.waitFor(async () => {
      const log = await stack.compose('logs', '--no-color', 'nginx')
      const found = [...log.matchAll(/"client":"([^"]*)".*"path":"\/monitoring"/g)].map(
        ([, client]) => client,
      )
      expect(found).not.toEqual([])
      return found
    }, 30_000)
    expect(clients).toEqual([expect.stringMatching(/^\d+\.\d+\.\d+\.\d+$/)])
    expect(clients).not.toContain(STRANGER)
    expect(clients[0]).not.toMatch(/^10\.203\.114\./) // not Caddy's own
  })
})

function ask(options: RequestOptions, body?: Buffer): Promise<{ status: number | undefined; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(options, async (response) =>
      resolve({ status: response.statusCode, text: await text(response) }),
    )
    sent.on('error', reject).end(body)
  })
}
