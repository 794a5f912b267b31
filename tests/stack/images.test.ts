/** Contents of the images. */

import { randomBytes } from 'node:crypto'
import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { deriveAdminToken } from '../../contract/admin-token.ts'
import { INBOX_DSN } from '../../contract/dsn.ts'
import manifest from '../../package.json' with { type: 'json' }
import { type Clone, makeClone } from '../support/clone.ts'
import { BUILD_TIMEOUT_MS, callDocker } from '../support/docker/engine.ts'
import { errorOf } from '../support/envelopes.ts'
import { ROOT } from '../support/node.ts'
import { post } from '../support/post.ts'
import { requires } from '../support/requirements.ts'
import { until } from '../support/until.ts'

const CAPACITY = readFileSync(join(ROOT, 'docs/benchmarks.md'), 'utf8')
const COMPOSE = readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8')
const BASE = process.env.NODE_IMAGE || 'node:24-slim'
const PASSWORD = 'password of the tests'
const NO_BUILD_TOOLS = 'for p in npm npx yarn gcc cc make python3 git; do command -v $p; done; true'

describe('The image', requires('docker'), () => {
  const tag = randomBytes(4).toString('hex')
  const name = (image: string) => `culvert-${image}-test:${tag}`
  const images = ['tunnel', 'web'] as const
  let clone: Clone

  beforeAll(async () => {
    clone = makeClone()
    for (const image of images) await build(image)
  })

  afterAll(async () => {
    const mine = ['--filter', `label=org.opencontainers.image.revision=${tag}`]
    try {
      const ids = await docker('image', 'ls', '--all', '--quiet', ...mine)
      await docker('image', 'rm', '--force', ...new Set(ids.split('\n')))
    } finally {
      clone.remove()
    }
  })

  /** Returns the output of the builder. */
  async function build(image: string): Promise<string> {
    const args = ['--build-arg', `NODE_IMAGE=${BASE}`, '--build-arg', `REVISION=${tag}`]
    const command = ['build', '--progress=plain', '--file', `Dockerfile.${image}`, ...args]
    return (
      await callDocker([...command, '--tag', name(image), '.'], {
        cwd: clone.path,
        timeout: BUILD_TIMEOUT_MS,
      })
    ).stderr
  }

  const inside = (image: string, script: string) =>
    docker('run', '--rm', '--network=none', '--entrypoint=sh', name(image), '-c', script)

  it('of web contains the files that Next.js traced, and no build tools', async () => {
    expect((await inside('web', 'ls -A /app')).split('\n')).toEqual(['node_modules', 'web'])
    const packages = await inside('web', 'ls -A /app/node_modules')
    expect(packages).toMatch(/^next$/m)
    expect(packages).not.toMatch(/^(typescript|tailwindcss|vitest|@biomejs|@types)$/m)
  })

  it('of web has no source map that browsers can request', async () => {
    const folder = '/app/web/.next/static'
    expect(await inside('web', `ls ${folder}`)).toMatch(/./)
    expect(
      await inside('web', `find ${folder} -name '*.map'; grep -rl sourceMappingURL= ${folder} || true`),
    ).toBe('')
  })

  it.each(images)('of %s has labels, runs unprivileged, and starts in exec form', async (image) => {
    const [config] = await inspect<ImageConfig>('{{json .Config}}', name(image))
    expect(config?.Labels).toMatchObject({
      'org.opencontainers.image.title': `culvert-${image}`,
      'org.opencontainers.image.description': expect.stringMatching(/\w/),
      'org.opencontainers.image.licenses': manifest.license,
      'org.opencontainers.image.version': manifest.version,
      'org.opencontainers.image.revision': tag,
      'org.opencontainers.image.base.name': BASE,
    })
    expect(config?.User).toBe('node')
    expect(config?.Cmd[0]).toBe('node')
    expect(config?.Healthcheck.Test[0]).toBe('CMD')
  })

  it('of the tunnel declares no admin port, which docker run -P would publish', async () => {
    const exposed = await inspect('{{json .Config.ExposedPorts}}', name('tunnel'))
    expect(exposed).toEqual([{ '9090/tcp': {} }])
  })

  it.each(images)('of %s contains no package manager or compiler', async (image) => {
    expect(await inside(image, NO_BUILD_TOOLS)).toBe('')
  })

  it.each(images)('of %s limits the heap to the documented share of the memory in compose', async (image) => {
    const row = (name: string) => {
      const [, tunnel, web] =
        new RegExp(`^\\| ${name} .*\\| (\\d+) \\| (\\d+) \\|$`, 'm').exec(CAPACITY) ?? []
      return Number(image === 'tunnel' ? tunnel : web)
    }
    expect(parse(COMPOSE, { merge: true }).services[image].mem_limit).toBe(`${row('memory limit')}m`)
    const code = 'console.log(v8.getHeapStatistics().heap_size_limit / 2 ** 20)'
    const limit = Number(
      await docker('run', '--rm', '--memory', `${row('memory limit')}m`, name(image), 'node', '-e', code),
    )
    expect(limit).toBeGreaterThanOrEqual(row('old generation of the heap'))
    expect(limit).toBeLessThan(row('old generation of the heap') + 32) // the young generation is additional
  })

  it('of the tunnel runs alone, and that of web is its console, as docs/proxies.md says', async () => {
    await using started = new AsyncDisposableStack()
    const [volume, network] = [`culvert-spool-${tag}`, `culvert-network-${tag}`]
    const atEnd = (...command: string[]) => started.defer(() => docker(...command).then(() => {}))
    atEnd('volume', 'rm', volume)
    await docker('network', 'create', network)
    atEnd('network', 'rm', network)
    const run = async (image: string, ...args: string[]): Promise<string> => {
      const set = ['--env', `OPERATOR_PASSWORD=${PASSWORD}`, ...args]
      const id = await docker('run', '--detach', ...set, name(image))
      atEnd('rm', '--force', id)
      return id
    }

    const gateways = '{{range .NetworkSettings.Networks}}{{println .Gateway}}{{end}}' // that of the network `bridge` has none before Docker's first restart
    const gateway = await docker('inspect', '--format', gateways, await run('tunnel'))
    const settings = ['-e', `TRUSTED_PROXIES=${gateway}`, '-v', `${volume}:/spool`, '-p', '127.0.0.1::9090']
    const tunnel = await run('tunnel', ...settings)
    await docker('network', 'connect', '--alias', 'tunnel', network, tunnel)
    const [, address] = /^9090\/tcp -> (127.+)$/.exec(await docker('port', tunnel)) ?? [] // and no other port
    await until(() => isUp(`http://${address}/monitoring`, 'OPTIONS'), 90_000)
    const headers = { 'x-forwarded-for': '9.9.9.9' }
    expect((await post(`http://${address}`, { headers, body: errorOf(INBOX_DSN) })).status).toBe(200)
    expect((await fetch(`http://${address}/monitoring/sdk.js`)).status).toBe(200)

    const admin = 'tunnel:9091'
    const web = await run('web', '--network', network, '-e', `TUNNEL_ADMIN=${admin}`, '-p', '127.0.0.1::3000')
    const [, site] = /^3000\/tcp -> (127.+)$/.exec(await docker('port', web)) ?? []
    await until(() => isUp(`http://${site}/console`, 'GET'), 90_000)
    const authorization = `Bearer ${deriveAdminToken(PASSWORD)}`
    const ask = (path: string, member: string) =>
      docker(
        ...['exec', web, 'node', '--input-type=module', '-e'],
        `const r = await fetch('http://${admin}${path}', { headers: ${JSON.stringify({ authorization })} }); console.log(r.status, (await r.json()).${member})`,
      )
    expect(await ask('/status', 'warnings')).toBe('200 []')

    await docker('stop', tunnel)
    const next = await run('tunnel', ...settings)
    await docker('network', 'connect', '--alias', 'tunnel', network, next)
    const isKept = async () => (await ask('/inbox', 'entries.length').catch(String)) === '200 1'
    await until(isKept, 90_000) // the volume has what the first one stored
  })

  it('of the tunnel is rebuilt without installing packages when only sources have changed', async () => {
    appendFileSync(join(clone.path, 'tunnel/src/main.ts'), `// ${tag}\n`)
    const told = await build('tunnel')
    const [, step] = /^#(\d+) \[packages .*npm ci/m.exec(told) ?? []
    expect(told).toMatch(new RegExp(`^#${step} CACHED$`, 'm'))
    const [, sources] = /^#(\d+) \[.*COPY tunnel tunnel$/m.exec(told) ?? []
    expect(told).toMatch(new RegExp(`^#${sources} DONE `, 'm'))
  })
})

async function isUp(url: string, method: string): Promise<boolean> {
  const response = await fetch(url, { method, redirect: 'manual' }).catch(() => undefined)
  return response !== undefined && response.status < 400
}

type ImageConfig = {
  Labels: Record<string, string>
  User: string
  Cmd: string[]
  Healthcheck: { Test: string[] }
}

async function docker(...args: string[]): Promise<string> {
  return (await callDocker(args)).stdout.trim()
}

async function inspect<T>(format: string, ...images: string[]): Promise<T[]> {
  const lines = (await docker('image', 'inspect', '--format', format, ...images)).split('\n')
  return lines.map((line) => JSON.parse(line))
}
