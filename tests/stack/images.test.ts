/** Contents of the images. */

import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import manifest from '../../package.json' with { type: 'json' }
import { type Clone, makeClone } from '../support/clone.ts'
import { ROOT } from '../support/node.ts'
import { requires } from '../support/requirements.ts'

const MB = 1_000_000
const CAPACITY = readFileSync(join(ROOT, 'docs/capacity.md'), 'utf8')
const COMPOSE = readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8')
const BASE = process.env.NODE_IMAGE || 'node:24-slim'
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
    const ids = await docker('image', 'ls', '--all', '--quiet', ...mine)
    await docker('image', 'rm', '--force', ...new Set(ids.split('\n')))
    clone.remove()
  })

  /** Returns the output of the builder. */
  async function build(image: string): Promise<string> {
    const args = ['--build-arg', `NODE_IMAGE=${BASE}`, '--build-arg', `REVISION=${tag}`]
    const command = ['build', '--progress=plain', '--file', `Dockerfile.${image}`, ...args]
    const options = { cwd: clone.path, maxBuffer: 64 * MB }
    return (await promisify(execFile)('docker', [...command, '--tag', name(image), '.'], options)).stderr
  }

  const inside = (image: string, script: string) =>
    docker('run', '--rm', '--network=none', '--entrypoint=sh', name(image), '-c', script)

  it('of the tunnel adds less than 25 MB to its base', async () => {
    const [size = 0, base = 0] = await inspect<number>('{{json .Size}}', name('tunnel'), BASE)
    expect(size - base).toBeGreaterThan(0)
    expect(size - base).toBeLessThan(25 * MB)
  })

  it('of web contains the files that Next.js traced, and no build tools', async () => {
    expect((await inside('web', 'ls -A /app')).split('\n')).toEqual(['node_modules', 'web'])
    const packages = await inside('web', 'ls -A /app/node_modules')
    expect(packages).toMatch(/^next$/m)
    expect(packages).not.toMatch(/^(typescript|tailwindcss|vitest|@biomejs|@types)$/m)
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

  it('of the tunnel is rebuilt without installing packages when only sources have changed', async () => {
    appendFileSync(join(clone.path, 'tunnel/src/main.ts'), `// ${tag}\n`)
    const told = await build('tunnel')
    const [, step] = /^#(\d+) \[packages .*npm ci/m.exec(told) ?? []
    expect(told).toMatch(new RegExp(`^#${step} CACHED$`, 'm'))
    const [, sources] = /^#(\d+) \[.*COPY tunnel tunnel$/m.exec(told) ?? []
    expect(told).toMatch(new RegExp(`^#${sources} DONE `, 'm'))
  })
})

type ImageConfig = {
  Labels: Record<string, string>
  User: string
  Cmd: string[]
  Healthcheck: { Test: string[] }
}

async function docker(...args: string[]): Promise<string> {
  return (await promisify(execFile)('docker', args)).stdout.trim()
}

async function inspect<T>(format: string, ...images: string[]): Promise<T[]> {
  const lines = (await docker('image', 'inspect', '--format', format, ...images)).split('\n')
  return lines.map((line) => JSON.parse(line))
}
