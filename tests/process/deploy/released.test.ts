/** Compose with the images of a release. */

import { describe, expect, it } from 'vitest'
import { callDocker } from '../../support/docker/engine.ts'
import { requires } from '../../support/requirements.ts'

type Service = { image: string; build?: object; pull_policy?: string }

const RELEASE = { CULVERT_IMAGES: 'registry.example/culvert' }

async function compose(env: Record<string, string>, ...args: string[]): Promise<string> {
  const files = ['-f', 'docker-compose.yml', '-f', 'deploy/released.yml']
  const { stdout } = await callDocker(['compose', ...files, ...args], { env: { ...process.env, ...env } })
  return stdout
}

async function readServices(env: Record<string, string>): Promise<Record<string, Service>> {
  return JSON.parse(await compose(env, 'config', '--format', 'json')).services
}

describe('deploy/released.yml', requires('docker'), () => {
  it('pulls the images of its own version, and builds none', async () => {
    const services = await readServices(RELEASE)
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

  it('has nothing to build, so that npm run deploy only replaces the containers', async () => {
    await expect(compose(RELEASE, 'build', 'tunnel', 'web')).resolves.toEqual(expect.any(String))
  })

  it('requires CULVERT_IMAGES', async () => {
    await expect(readServices({ CULVERT_IMAGES: '' })).rejects.toThrow(
      'required variable CULVERT_IMAGES is missing a value',
    )
  })
})
