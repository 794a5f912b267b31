/** The location of `docs/proxies.md` for an operator's own nginx in front of Culvert. */

import { readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import { freePort } from '../../../scripts/start/free-port.ts'
import { errorOf } from '../../support/envelopes.ts'
import { it as base } from '../../support/fixtures.ts'
import { perFile } from '../../support/lifetime.ts'
import { runNginx } from '../../support/nginx/nginx.ts'
import { ROOT } from '../../support/node.ts'
import { requires } from '../../support/requirements.ts'

const PAGE = readFileSync(join(ROOT, 'docs/proxies.md'), 'utf8')
const [, LOCATION = ''] = /```nginx\n([\s\S]*?)```/.exec(PAGE) ?? []
const VISITOR = '127.0.0.9'

/** Minimal nginx configuration around the location. */
function configOf(folder: string, port: number, culvert: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  return `
    daemon off;
    pid ${folder}/nginx.pid;
    events {}
    http {
      access_log off;
      ${temporary.map((name) => `${name}_temp_path ${folder}/${name};`).join('\n')}
      server {
        listen 127.0.0.1:${port};
        ${LOCATION.replace('http://127.0.0.1:8080', culvert)}
        location / { return 200 "the shop"; }
      }
    }`
}

function postFrom(localAddress: string, port: number, body: Buffer): Promise<number | undefined> {
  const origin = `http://127.0.0.1:${port}`
  return new Promise((resolve, reject) => {
    const posting = request(
      `${origin}/monitoring`,
      { method: 'POST', localAddress, headers: { origin } },
      (response) => response.resume().on('end', () => resolve(response.statusCode)),
    )
    posting.on('error', reject).end(body)
  })
}

const it = base.extend('nginxOptions', perFile, ({ tunnel }) => {
  return { tunnels: [`127.0.0.1:${tunnel.port}`], web: '127.0.0.1:1', env: { TRUSTED_PROXIES: '127.0.0.1' } }
})

describe('The location of the docs for another nginx', requires('nginx', 'proc'), () => {
  it('forwards envelopes with the client address, and no other paths', async ({ sentry, nginx, folder }) => {
    const port = await freePort()
    const file = join(folder, 'nginx.conf')
    writeFileSync(file, configOf(folder, port, nginx.url))
    const own = await runNginx(file, port)
    await using _ = { [Symbol.asyncDispose]: own.stop }

    expect(await postFrom(VISITOR, port, errorOf(sentry.dsn()))).toBe(200)
    const { headers } = await sentry.next(() => true)
    expect(headers).toMatchObject({ 'x-forwarded-for': VISITOR })
    for (const path of ['/', '/monitoring-room', '/monitoring/room'])
      expect(await (await fetch(`http://127.0.0.1:${port}${path}`)).text()).toBe('the shop')
    const reports = await fetch(`http://127.0.0.1:${port}/monitoring/reports`)
    expect(await reports.json()).toMatchObject({ code: 'method-unknown' })
    const loader = await fetch(`http://127.0.0.1:${port}/monitoring/sdk.js?p=0`)
    expect(await loader.json()).toMatchObject({
      code: expect.stringMatching(/^(project-unknown|sdk-missing)$/),
    })
  })
})
