/** HTTPS and HTTP/2 with the shipped files, and a renewed certificate. */

import { once } from 'node:events'
import { chmodSync, copyFileSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { connect } from 'node:http2'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { connect as connectTls, type PeerCertificate } from 'node:tls'
import { describe, expect, vi } from 'vitest'
import { freePort } from '../../scripts/start/free-port.ts'
import { callDocker } from '../support/docker/engine.ts'
import { it as base } from '../support/docker/fixtures.ts'
import { perFile } from '../support/lifetime.ts'
import { ROOT } from '../support/node.ts'
import { requires } from '../support/requirements.ts'

const FIXTURES = join(ROOT, 'tests/fixtures/tls')
const trusted = ['cert.pem', 'renewed.pem'].map((name) => readFileSync(join(FIXTURES, name)))

const it = base
  .extend('port', perFile, () => freePort())
  .extend('composeOptions', perFile, ({ folder, port }) => {
    chmodSync(folder, 0o755) // for nginx, which runs as another user
    copyFileSync(join(FIXTURES, 'cert.pem'), join(folder, 'fullchain.pem'))
    copyFileSync(join(FIXTURES, 'key.pem'), join(folder, 'privkey.pem'))
    const env = {
      COMPOSE_FILE: 'docker-compose.yml:deploy/tls.yml',
      HTTPS_PORT: String(port),
      TLS_FOLDER: folder,
    }
    return { services: ['nginx'], env }
  })

describe('nginx with deploy/tls.yml', requires('docker'), () => {
  it('speaks HTTP/2', async ({ stack: _, port }) => {
    const session = connect(`https://localhost:${port}`, { ca: trusted })
    const post = session.request({ ':method': 'POST', ':path': '/monitoring' })
    post.end('{}')
    const [headers] = await once(post, 'response')
    expect(session.alpnProtocol).toBe('h2')
    expect(headers[':status']).toBe(502)
    expect(JSON.parse(await text(post))).toMatchObject({ code: 'tunnel-away' })
    session.close()
  })

  it('returns a rejection in JSON for HTTP on the port for HTTPS', async ({ stack: _, port }) => {
    const answer = await fetch(`http://localhost:${port}/monitoring`, { method: 'POST', body: '{}' })
    expect([answer.status, await answer.json()]).toEqual([
      400,
      expect.objectContaining({ code: 'request-malformed' }),
    ])
  })

  it('does not start with a certificate that nginx cannot read, and says what to do', async ({
    stack,
    folder,
  }) => {
    const other = join(folder, 'live')
    mkdirSync(other)
    chmodSync(other, 0o755)
    symlinkSync('../../archive/fullchain1.pem', join(other, 'fullchain.pem')) // as certbot does
    const env = { ...stack.env, TLS_FOLDER: other }
    await expect(callDocker(['compose', 'up', '--detach', 'nginx'], { env })).rejects.toThrow(
      /tls-check.* didn't complete successfully: exit 1/,
    )
    expect(await stack.compose('logs', 'tls-check')).toContain(
      'fullchain.pem is a link that leads out of the folder',
    )
    await stack.up('nginx')
  })

  it('serves a renewed certificate without a reload', async ({ stack: _, port, folder }) => {
    expect((await certificateOf(port)).subject.CN).toBe('Culvert test Sentry')
    copyFileSync(join(FIXTURES, 'renewed.pem'), join(folder, 'fullchain.pem'))
    await vi.waitFor(async () => {
      expect((await certificateOf(port)).subject.CN).toBe('Culvert test Sentry, renewed')
    }, 60_000)
  })
})

async function certificateOf(port: number): Promise<PeerCertificate> {
  const socket = connectTls({ port, host: '127.0.0.1', servername: 'localhost', ca: trusted })
  await once(socket, 'secureConnect')
  const certificate = socket.getPeerCertificate()
  socket.destroy()
  return certificate
}
