/** Service nginx-config: first start, changed settings, and wrong settings. */

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Compose, startCompose } from '../support/docker/compose.ts'
import { ROOT } from '../support/node.ts'
import { post } from '../support/post.ts'
import { requires } from '../support/requirements.ts'
import { until } from '../support/until.ts'

describe('nginx-config', requires('docker'), () => {
  const started = new AsyncDisposableStack()
  let stack: Compose

  beforeAll(async () => {
    stack = started.use(await startCompose({ services: ['nginx'], env: { TUNNEL_PATHS: '/first' } }))
  })

  afterAll(() => started.disposeAsync())

  const composeWith = (TUNNEL_PATHS: string, ...args: string[]) =>
    promisify(execFile)('docker', ['compose', ...args], { cwd: ROOT, env: { ...stack.env, TUNNEL_PATHS } })
  /** There is no tunnel: nginx itself rejects a post to a tunnel path. */
  const isTunnelPath = async (path: string) => {
    const { text } = await post(stack.url, { path, body: '{}' }).catch(() => ({ text: '' })) // nginx starts again
    return text.includes('"code":"tunnel-away"')
  }
  const startOf = async () =>
    stack.docker('inspect', '--format', '{{.Id}} {{.State.StartedAt}}', ...(await stack.containers('nginx')))

  it('renders the configuration before nginx starts, and exits', async () => {
    expect(await isTunnelPath('/first')).toBe(true)
    const state = await stack.compose('ps', '--all', '--format', '{{.State}} {{.ExitCode}}', 'nginx-config')
    expect(state).toBe('exited 0')
  })

  it('renders a changed setting, which the running nginx applies on SIGHUP', async () => {
    const before = await startOf()
    await composeWith('/second', 'up', 'nginx-config')
    await stack.compose('kill', '--signal', 'HUP', 'nginx')
    await until(() => isTunnelPath('/second'))
    expect(await startOf()).toBe(before)
  })

  it('names the problem with an invalid setting and leaves the configuration unchanged', async () => {
    const { stderr } = await composeWith('wrong', 'up', 'nginx-config')
    expect(stderr).toMatch(/nginx-config-1 +\| culvert nginx: cannot start, 1 problem\(s\):$/m)
    expect(stderr).toMatch(/nginx-config-1 +\| TUNNEL_PATHS: "wrong" is not a path;/m)
    await stack.compose('kill', '--signal', 'HUP', 'nginx')
    expect(await isTunnelPath('/second')).toBe(true)
  })

  it('makes docker compose up restart nginx with a changed setting', async () => {
    await composeWith('/third', 'up', '--detach', '--wait', 'nginx')
    await until(() => isTunnelPath('/third'))
  })

  it('keeps nginx from starting with an invalid setting', async () => {
    await stack.compose('rm', '--stop', '--force', 'nginx')
    await expect(composeWith('wrong', 'up', '--detach', 'nginx')).rejects.toThrow(
      /nginx-config.* didn't complete successfully: exit 1/,
    )
    expect(await stack.containers('nginx')).toEqual([])
  })
})
