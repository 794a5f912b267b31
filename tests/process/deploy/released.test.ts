/** Compose with the images of a release. */

import { describe, expect, it } from 'vitest'
import { callDocker } from '../../support/docker/engine.ts'
import { requires } from '../../support/requirements.ts'

type Service = { image: string; build?: object; pull_policy?: string }

async function compose(...args: string[]): Promise<string> {
  const files = ['-f', 'docker-compose.yml', '-f', 'deploy/released.yml']
  const { stdout } = await callDocker(['compose', ...files, ...args])
  return stdout
}

describe('deploy/released.yml', requires('docker'), () => {
  it('pulls the images of its own version, and builds none', async () => {
    const services: Record<string, Service> = JSON.parse(await compose('config', '--format', 'json')).services
    const images = Object.entries({ 'nginx-config': 'tunnel', tunnel: 'tunnel', web: 'web' })
    for (const [name, image] of images) {
      expect(services[name]).toMatchObject({
        image: `ghcr.io/OWNER/REPOSITORY-${image}:0.1.0`, // the release workflow replaces the prefix
        pull_policy: 'missing',
      })
      expect(services[name]).not.toHaveProperty('build')
    }
    expect(Object.values(services).filter(({ build }) => build)).toEqual([])
  })

  it('has nothing to build, so that npm run deploy only replaces the containers', async () => {
    await expect(compose('build', 'tunnel', 'web')).resolves.toEqual(expect.any(String))
  })
})
