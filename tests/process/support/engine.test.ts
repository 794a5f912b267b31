/** Commands of Docker in the tests, with a program in place of docker. */

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, vi } from 'vitest'
import {
  callDocker,
  findUnresponsiveEngine,
  forgetUnresponsiveEngine,
  RUN_VARIABLE,
} from '../../support/docker/engine.ts'
import { it } from '../../support/fixtures.ts'

describe('A command of Docker', () => {
  beforeEach(() => void vi.stubEnv(RUN_VARIABLE, `engine-test-${process.pid}`))
  afterEach(() => {
    forgetUnresponsiveEngine()
    vi.unstubAllEnvs()
  })

  it('that does not end in its time fails, and so do all later ones of the run, until it is over', async ({
    folder,
  }) => {
    const env = await placeDocker(folder, 'exec sleep 600')
    const problem = 'the Docker Engine does not respond: "docker compose down" did not end within 0.2 s'
    await expect(callDocker(['compose', 'down'], { env }, 200)).rejects.toThrow(problem)
    expect(findUnresponsiveEngine()).toBe(problem)
    const working = await placeDocker(folder, 'echo done')
    await expect(callDocker(['info'], { env: working })).rejects.toThrow(problem)
    forgetUnresponsiveEngine()
    expect(await callDocker(['info'], { env: working })).toEqual({ stdout: 'done\n', stderr: '' })
  })

  it('that may be slow fails after its time, and lets later ones run', async ({ folder }) => {
    const env = await placeDocker(folder, 'exec sleep 600')
    const slow = callDocker(['compose', 'build'], { env, timeout: 200 })
    await expect(slow).rejects.toThrow('"docker compose build" did not end within 0.2 s')
    expect(findUnresponsiveEngine()).toBeUndefined()
  })

  it('that fails lets later ones run', async ({ folder }) => {
    const env = await placeDocker(folder, 'echo "no such container" >&2; exit 1')
    await expect(callDocker(['kill', 'one'], { env })).rejects.toThrow('no such container')
    expect(findUnresponsiveEngine()).toBeUndefined()
  })
})

/** Writes a program with the name of docker. Returns an environment in which it is found before Docker's. */
async function placeDocker(folder: string, script: string): Promise<NodeJS.ProcessEnv> {
  await writeFile(join(folder, 'docker'), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  return { PATH: `${folder}:${process.env.PATH}` }
}
