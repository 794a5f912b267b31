/** Compose with the images of a release. */

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { ROOT } from '../../support/node.ts'
import { requires } from '../../support/requirements.ts'

type Service = { image: string; build?: object; pull_policy?: string }

async function readServices(env: Record<string, string>): Promise<Record<string, Service>> {
  const args = [
    'compose',
    '-f',
    'docker-compose.yml',
    '-f',
    'deploy/released.yml',
    'config',
    '--format',
    'json',
  ]
  const { stdout } = await promisify(execFile)('docker', args, { cwd: ROOT, env: { ...process.env, ...env } })
  return JSON.parse(stdout).services
}

describe('deploy/released.yml', requires('docker'), () => {
  it('pulls the images of CULVERT_VERSION, and builds none', async () => {
    const services = await readServices({
      CULVERT_IMAGES: 'registry.example/culvert',
      CULVERT_VERSION: '0.1.0',
    })
    const images = Object.entries({ 'nginx-config': 'tunnel', tunnel: 'tunnel', web: 'web' })
    for (const [name, image] of images) {
      expect(services[name]).toMatchObject({
        image: `registry.example/culvert-${image}:0.1.0`,
        pull_policy: 'missing',
      })
      expect(services[name]).not.toHaveProperty('build')
    }
    expect(Object.values(services).filter(({ build }) => build)).toEqual([])
  })

  it.each(['CULVERT_IMAGES', 'CULVERT_VERSION'])('requires %s', async (missing) => {
    const env = { CULVERT_IMAGES: 'registry.example/culvert', CULVERT_VERSION: '0.1.0', [missing]: '' }
    await expect(readServices(env)).rejects.toThrow(`required variable ${missing} is missing a value`)
  })
})
