/** nginx accepts the rendered configuration. */

import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type NginxConfig,
  readNginxConfig,
  readNginxTemplate,
  renderNginx,
} from '../../../deploy/nginx/render.ts'
import { callDocker } from '../../support/docker/engine.ts'
import { ENVIRONMENT, NODE, ROOT } from '../../support/node.ts'
import { NGINX_PROGRAM, requires } from '../../support/requirements.ts'
import { makeFolder } from '../../support/temporary-folder.ts'

const TLS = {
  LISTEN: '8443/tls [::]:8443/tls',
  TLS_FOLDER: join(ROOT, 'tests/fixtures/tls'),
}
const LISTS = {
  TUNNEL_PATHS: '/monitoring|/errors/in-here',
  DERIVED_PATHS: 'on',
  TRUSTED_PROXIES: '10.0.0.0/8 172.16.0.1 2001:db8::/32 ::ffff:192.0.2.0/120',
  TUNNELS: '127.0.0.1:9090 127.0.0.1:9190',
}

const NO_RATE = { ALLOWED_HOSTS: 'shop.example', CLIENT_ADDRESS: 'truncate', ADDRESS_RATE: '0' }
const NAMES = { TUNNELS: 'tunnel:9090', WEB: 'web:3000' }

let folder: Awaited<ReturnType<typeof makeFolder>>

beforeAll(async () => {
  folder = await makeFolder()
  chmodSync(folder.path, 0o755) // for nginx in a container, which runs as another user
})

afterAll(() => folder[Symbol.asyncDispose]())

function render(env: Record<string, string>, change: Partial<NginxConfig> = {}): string {
  const file = join(folder.path, 'nginx.conf')
  const problems: string[] = []
  const config = { ...readNginxConfig(env, problems), ...change }
  expect(problems).toEqual([])
  writeFileSync(file, renderNginx(readNginxTemplate(), config))
  return file
}

/** Has the installed nginx check a file. */
function check(file: string) {
  const args = ['-t', '-p', folder.path, '-e', 'stderr', '-c', file]
  return spawnSync(NGINX_PROGRAM ?? '', args, { encoding: 'utf8' })
}

describe('The installed nginx', requires('nginx'), () => {
  it.each([
    ['the defaults', {}],
    ['an empty list', { TRUSTED_PROXIES: '' }],
    ['lists, paths and derived paths', LISTS],
    ['localhost and IPv6', { TUNNELS: 'localhost:9090 [::1]:9190', WEB: '192.0.2.1:3000' }],
    ['no limits', { ADDRESS_RATE: '0' }],
    ['a certificate', TLS],
    ['a folder that it cannot read, and no HTTPS', { TLS_FOLDER: '/nowhere' }],
    ['an app', { APP_URL: 'http://localhost:5173' }],
  ])('accepts the rendered file with %s', (_, env) => {
    const file = render(env)
    const { stderr } = check(file)
    expect(stderr).toBe(
      `nginx: the configuration file ${file} syntax is ok\nnginx: configuration file ${file} test is successful\n`,
    )
  })
})

describe('npm run config -- --nginx', requires('nginx'), () => {
  const printed = (env: Record<string, string>) =>
    spawnSync(NODE, ['scripts/config.ts', '--nginx'], {
      cwd: ROOT,
      env: { ...ENVIRONMENT, ...env },
      encoding: 'utf8',
    })

  it('prints a file that nginx accepts', () => {
    const file = join(folder.path, 'printed.conf')
    const { stdout, status } = printed(LISTS)
    expect(status).toBe(0)
    expect(stdout).toContain('location ~ ^(/monitoring|/errors/in-here|')
    writeFileSync(file, stdout)
    const { stderr } = check(file)
    expect(stderr).toContain(`configuration file ${file} test is successful`)
  })

  it('prints every problem with the settings, and no file', () => {
    const { stdout, stderr, status } = printed({ TUNNEL_PATHS: 'x', LISTEN: '8080;' })
    expect([stdout, status]).toEqual(['', 1])
    for (const name of ['TUNNEL_PATHS', 'LISTEN']) expect(stderr).toContain(`${name}: "`)
  })
})

describe('The renderer of the nginx container', () => {
  it('exits with 1, prints every problem with the settings, and writes no file', () => {
    const file = join(folder.path, 'never-written.conf')
    const env = { ...ENVIRONMENT, TUNNEL_PATHS: 'x', LISTEN: '8080;' }
    const options = { cwd: ROOT, env, encoding: 'utf8' } as const
    const { stderr, status } = spawnSync(NODE, ['deploy/nginx/write-config.ts', file], options)
    expect([status, existsSync(file)]).toEqual([1, false])
    expect(stderr).toMatch(/^culvert: cannot start, 2 problem\(s\):\n(.+\n){2}$/)
  })
})

describe('nginx in a read-only container with one volume', requires('docker'), () => {
  it.each([
    ['names', NAMES],
    ['plain addresses', {}],
    ['an app that is not there', { ...NAMES, APP_URL: 'http://shop:3000' }],
    ['lists, paths and derived paths', LISTS],
    ['IPv6', { LISTEN: '8080 [::]:8080' }],
    ['a certificate and HTTP/2', { ...TLS, ...NAMES }],
    ['hosts, networks in the log, and no rate', { ...NAMES, ...NO_RATE }],
  ])('accepts the rendered file with %s', async (_, env) => {
    render(env)
    const rights = ['--network=none', '--read-only', '--cap-drop=ALL', '--user=nginx']
    const mounts = [
      '-v',
      `${folder.path}:/nginx:ro`,
      '-v',
      `${ROOT}/tests:${ROOT}/tests:ro`,
      '-v',
      '/var/tmp',
    ]
    const script = 'mkdir /var/tmp/nginx && nginx -t -p /var/tmp/nginx -e stderr -c /nginx/nginx.conf'
    const args = ['run', '--rm', ...rights, ...mounts, '--entrypoint=sh', 'nginx:1.30', '-c', script]
    const { stderr } = await callDocker(args)
    expect(stderr).toBe(
      'nginx: the configuration file /nginx/nginx.conf syntax is ok\nnginx: configuration file /nginx/nginx.conf test is successful\n',
    )
  })
})
