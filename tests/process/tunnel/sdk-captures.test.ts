/** Captured requests of real SDKs, forwarded by the tunnel process unmodified. */

import { type IncomingMessage, request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { describe, expect } from 'vitest'
import { it as base } from '../../support/fixtures.ts'
import { perFile } from '../../support/lifetime.ts'
import { type Capture, captures } from '../../support/sdk-captures.ts'
import { readCertificate } from '../../support/sentry/sentry.ts'

const KEY = '0123456789abcdef0123456789abcdef'
const PROJECT = '4505287138803712'
const HOST = 'o4504179120472064.ingest.us.sentry.io'

const tunnelled = captures().filter(({ dsn }) => dsn !== undefined)

const it = base
  .extend('sentryOptions', perFile, () => ({ projects: { [PROJECT]: KEY }, tls: readCertificate() }))
  .extend('tunnelOptions', perFile, ({ sentry }) => ({
    env: { SENTRY_DSN: `https://${KEY}@${HOST}/${PROJECT}`, DERIVED_PATHS: 'on' },
    reroute: { [`${HOST}:443`]: `127.0.0.1:${sentry.port}` },
  }))
describe('The captured request', () => {
  it.for(tunnelled)('$name is forwarded to Sentry unmodified', async (capture, { sentry, tunnel }) => {
    const answer = await post(tunnel.port, capture)
    const received = await sentry.next()

    expect(received.body.equals(capture.body)).toBe(true)
    expect(received.path).toBe(`/api/${PROJECT}/envelope/`)
    expect(received.headers.host).toBe(HOST)
    expect(received.headers['user-agent']).toBe(headerOf(capture, 'user-agent'))
    expect(answer).toEqual({
      status: 200,
      body: received.header.event_id ? { id: received.header.event_id } : {},
    })
  })
})

/** Sends a capture with its own method, path, query and headers, chunked if it was chunked. */
async function post(
  port: number,
  { method, url, rawHeaders, body }: Capture,
): Promise<{ status: number; body: unknown }> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request({ port, method, path: url, headers: rawHeaders }, resolve).on('error', reject).end(body)
  })
  return { status: response.statusCode ?? 0, body: JSON.parse(String(await buffer(response))) }
}

function headerOf({ rawHeaders }: Capture, name: string): string | undefined {
  return rawHeaders[rawHeaders.findIndex((each, index) => index % 2 === 0 && each.toLowerCase() === name) + 1]
}
