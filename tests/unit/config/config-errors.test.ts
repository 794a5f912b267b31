/** Invalid settings: nginx's renderer, web and the tunnel report them in the same words. `settings.test.ts` has the values. */

import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readDsns } from '../../../contract/dsn.ts'
import type { Environment } from '../../../contract/settings.ts'
import { readSharedSettings, SettingsReader } from '../../../contract/settings-reader.ts'
import { readNginxConfig } from '../../../deploy/nginx/render.ts'
import { BadSettings, readConfig as readTunnelConfig } from '../../../tunnel/src/config/config.ts'
import { readConfig as readWebConfig } from '../../../web/lib/config.ts'
import { ROOT } from '../../support/node.ts'

const INVALID = {
  SENTRY_DSN: 'https://key@host/ https://key:s:/ecret@o1.ingest.sentry.io/2',
  TUNNEL_PATHS: '/lab/x|x',
  TRUSTED_PROXIES: 'any, all',
  MAX_ENVELOPE_BYTES: 'many',
}

/** Problems that each process should report, in the order of the tunnel. */
function expectedLines(env: Environment): string[] {
  const problems: string[] = []
  readDsns(env.SENTRY_DSN, problems)
  readSharedSettings(new SettingsReader(env, problems))
  return inLines(problems)
}

describe('An invalid setting', () => {
  it('is reported by nginx, tunnel and web in the same words', () => {
    const problems = expectedLines(INVALID)
    expect(problems).toHaveLength(7)
    expect(nginxProblems(INVALID)).toEqual(problems)
    expect(tunnelProblems(INVALID)).toEqual(problems)
    expect(webProblems(INVALID).toSorted()).toEqual(problems.toSorted())
  })

  it.each([
    { SENTRY_DSN_FILE: '/nowhere/dsn' },
    { SENTRY_DSN_FILE: '/nowhere/dsn', SENTRY_DSN: 'https://key@o1.ingest.sentry.io/2' },
    { SENTRY_DSN_FILE: join(ROOT, 'LICENSE') },
  ])('with a file for its value is reported by nginx, tunnel and web in the same words: %j', (env) => {
    const problems = tunnelProblems(env)
    expect(problems).not.toEqual([])
    expect(nginxProblems(env)).toEqual(problems)
    expect(webProblems(env)).toEqual(problems)
  })

  it('of the pages is told by nginx and web in the same words', () => {
    const env = { APP_URL: 'https://shop.example' }
    const problems = nginxProblems(env)
    expect(problems).not.toEqual([])
    expect(webProblems(env)).toEqual(problems)
  })

  it('that is a limit is reported by nginx and tunnel in the same words', () => {
    const env = { ADDRESS_RATE: 'fast' }
    const problems = tunnelProblems(env)
    expect(problems).toHaveLength(1)
    expect(nginxProblems(env)).toEqual(problems)
  })
})

function nginxProblems(env: Environment): string[] {
  const problems: string[] = []
  readNginxConfig(env, problems)
  return inLines(problems)
}

function webProblems(env: Environment): string[] {
  const problems: string[] = []
  readWebConfig(env, problems)
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
