/** Invalid settings: nginx's renderer, web and the tunnel report them in the same words. */

import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readDsns } from '../../../contract/dsn.ts'
import type { Environment } from '../../../contract/settings.ts'
import { readSharedSettings, SettingsReader } from '../../../contract/settings-reader.ts'
import { readNginxConfig } from '../../../deploy/nginx/render.ts'
import { BadSettings, readConfig as readTunnelConfig } from '../../../tunnel/src/config/config.ts'
import { readConfig as readWebConfig } from '../../../web/lib/config.ts'
import { NODE, ROOT } from '../../support/node.ts'
import { makeFolder } from '../../support/temporary-folder.ts'

/** One of each setting: `tests/unit/config/settings.test.ts` has the others. */
const BAD: Record<string, string>[] = [
  { TUNNEL_PATHS: '/a\n/b' },
  { TRUSTED_PROXIES: '10.0.0.0/08, 10.0.0.0/8/8' },
  { MAX_ENVELOPE_BYTES: '1023' },
  { SENTRY_DSN: 'https://key:s:/ecret@o1.ingest.sentry.io/2 https://key:@o1.ingest.sentry.io/x' },
  {
    SENTRY_DSN: 'https://key@host/',
    TUNNEL_PATHS: '/lab/x|x',
    TRUSTED_PROXIES: 'any, all',
    MAX_ENVELOPE_BYTES: 'many',
  },
]

/** Settings that nginx and the tunnel share, and web does not have. */
const BAD_LIMITS: Record<string, string>[] = [{ ADDRESS_RATE: 'fast' }, { ADDRESS_RATE: '1000001' }]

/** Problems that each process should report, in the order of the tunnel. */
function expectedLines(env: Environment): string[] {
  const problems: string[] = []
  readDsns(env.SENTRY_DSN, problems)
  readSharedSettings(new SettingsReader(env, problems))
  return inLines(problems)
}

describe('An invalid setting', () => {
  it.each(BAD)('is reported by nginx, tunnel and web in the same words: %j', (env) => {
    const problems = expectedLines(env)
    expect(problems).not.toEqual([])

    expect(nginxProblems(env)).toEqual(problems)
    expect(tunnelProblems(env)).toEqual(problems)

    const web: string[] = []
    readWebConfig(env, web)
    expect(inLines(web).toSorted()).toEqual(problems.toSorted())
  })

  it.each([
    { SENTRY_DSN_FILE: '/nowhere/dsn' },
    { SENTRY_DSN_FILE: '/nowhere/dsn', SENTRY_DSN: 'https://key@o1.ingest.sentry.io/2' },
    { SENTRY_DSN_FILE: join(ROOT, 'LICENSE') },
  ])('with a file for its value is reported by nginx, tunnel and web in the same words: %j', (env) => {
    const problems = tunnelProblems(env)
    expect(problems).not.toEqual([])
    expect(nginxProblems(env)).toEqual(problems)
    const web: string[] = []
    readWebConfig(env, web)
    expect(inLines(web)).toEqual(problems)
  })

  it('of the pages is told by nginx and web in the same words', () => {
    const env = { APP_URL: 'https://shop.example' }
    const problems = nginxProblems(env)
    expect(problems).not.toEqual([])
    const web: string[] = []
    readWebConfig(env, web)
    expect(inLines(web)).toEqual(problems)
  })

  it.each(BAD_LIMITS)('that is a limit is reported by nginx and tunnel in the same words: %j', (env) => {
    const problems = tunnelProblems(env)
    expect(problems).toHaveLength(Object.keys(env).length)
    expect(nginxProblems(env)).toEqual(problems)
  })

  it.each([
    ['tunnel', 'culvert tunnel', 'tunnel/src/main.ts'],
    ['nginx', 'culvert', 'deploy/nginx/write-config.ts'],
  ])('ends the %s with exit code 1 and all problems', async (_, name, script) => {
    await using folder = await makeFolder()
    const file = join(folder.path, 'nginx.conf')
    const env = BAD.at(-1) ?? {}
    const { status, stderr } = spawnSync(NODE, [script, file], {
      cwd: ROOT,
      env: { PATH: process.env.PATH, ...env },
      encoding: 'utf8',
    })
    const problems = expectedLines(env)
    expect(stderr).toBe(`${name}: cannot start, ${problems.length} problem(s):\n${problems.join('\n')}\n`)
    expect(status).toBe(1)
    expect(existsSync(file)).toBe(false)
  })
})

function nginxProblems(env: Environment): string[] {
  const problems: string[] = []
  readNginxConfig(env, problems)
  return inLines(problems)
}

function tunnelProblems(env: Environment): string[] {
  try {
    readTunnelConfig(env)
  } catch (error) {
    if (error instanceof BadSettings) return inLines(error.problems)
    throw error
  }
  return []
}

/** Returns the lines of a problem: its value may contain line breaks. */
function inLines(problems: string[]): string[] {
  return problems.flatMap((problem) => problem.split('\n'))
}
