/** Settings that the commands print, reject and warn of before they start anything. */

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { SETTING_NAMES } from '../../../contract/settings.ts'
import { findUnknown } from '../../../contract/unknown-settings.ts'
import { lostSettings } from '../../../scripts/deploy.ts'
import { freePort } from '../../../scripts/start/free-port.ts'
import { ENVIRONMENT, NODE, ROOT } from '../../support/node.ts'
import { startTunnel } from '../../support/tunnel/tunnel.ts'

const run = promisify(execFile)

type Outcome = { code?: number; stdout: string; stderr: string }

/** Runs a script with an empty PATH, so that Docker is not found. */
function command(script: string, env: Record<string, string> = {}, ...args: string[]): Promise<Outcome> {
  const password = { OPERATOR_PASSWORD: 'hush-password' } // otherwise the script generates and keeps one
  return run(NODE, [script, ...args], {
    cwd: ROOT,
    env: { ...ENVIRONMENT, PATH: '', ...password, ...env },
  }).catch((failure) => failure)
}

describe('npm run config', () => {
  it('prints every setting of nginx, web and the tunnels by its name', async () => {
    const { stdout } = await command('scripts/config.ts')
    const printed = [...stdout.matchAll(/^[* ] ([A-Z][A-Z0-9_]+) /gm)].map(([, name]) => name)
    expect(printed.sort()).toEqual([...SETTING_NAMES].sort())
  })

  it('prints values in the format of settings, and marks those that are set', async () => {
    const { stdout } = await command('scripts/config.ts', {
      ADDRESS_RATE: '7',
      TUNNEL_PATHS: '/a|/b',
      SENTRY_TRACES_SAMPLE_RATE: '0.25',
      FILTERS: 'localhost, web-crawlers',
      HTTP_PORT: '8181',
      LAB: 'on',
    })
    for (const [name, value] of [
      ['ADDRESS_RATE', '7'],
      ['TUNNEL_PATHS', '/a\\|/b'],
      ['SENTRY_TRACES_SAMPLE_RATE', '0.25'],
      ['FILTERS', 'localhost web-crawlers'],
      ['HTTP_PORT', '8181'],
      ['LAB', 'on'],
    ])
      expect(stdout).toMatch(new RegExp(`^\\* ${name} +${value}$`, 'm'))
    expect(stdout).toMatch(/^ {2}STORM_LIMIT +100 observe$/m)
    expect(stdout).toMatch(/^ {2}HTTPS_PORT +8443$/m)
  })

  it('prints no secrets', async () => {
    const { stdout } = await command('scripts/config.ts', {
      SENTRY_DSN: 'https://key:hushhush@o1.ingest.us.sentry.io/2',
      ADMIN_TOKEN: 'hush-token',
      SPOOL_URL: 'nats://me:hush-nats@nats:4222',
      COMPOSE_PROFILES: 'cluster',
      HTTPS_PROXY: 'http://me:hush-proxy@proxy.example:3128',
    })
    expect(stdout).toMatch(/^\* SENTRY_DSN +https:\/\/key@o1\.ingest\.us\.sentry\.io\/2$/m)
    expect(stdout).toMatch(/^\* SPOOL_URL +nats:\/\/nats:4222$/m)
    expect(stdout).toMatch(/^\* HTTPS_PROXY +http:\/\/…@proxy\.example:3128$/m)
    for (const name of ['ADMIN_TOKEN', 'OPERATOR_PASSWORD'])
      expect(stdout).toMatch(new RegExp(`^\\* ${name} +…$`, 'm'))
    expect(stdout).not.toContain('hush')
  })

  it('refuses a spool on the service NATS, which runs only in its profile', async () => {
    const failed = await command('scripts/config.ts', {
      SPOOL_URL: 'nats://nats:4222',
      COMPOSE_PROFILES: 'metrics',
    })
    expect(failed).toMatchObject({ code: 1 })
    expect(failed.stderr).toContain(
      'the service nats runs only with COMPOSE_PROFILES=cluster; add that line to .env',
    )
  })

  it('prints every problem with its remedy when settings are wrong', async () => {
    const failed = await command('scripts/config.ts', { HTTP_PORT: 'x', LOG_LEVEL: 'loud', LAB: 'maybe' })
    expect(failed).toMatchObject({ code: 1, stdout: '' })
    expect(failed.stderr).toMatch(/3 problem/)
    for (const name of ['HTTP_PORT', 'LOG_LEVEL', 'LAB']) expect(failed.stderr).toContain(`${name}: "`)
  })
})

describe('With wrong settings', () => {
  it('npm start ends before it builds', async () => {
    const failed = await command('scripts/start.ts', {
      HTTPS_PORT: '0',
      EDGE: 'mine',
    })
    expect(failed.stderr).toContain('cannot start, 2 problem(s):\nHTTPS_PORT: "0" is not a port;')
    expect(failed.stderr).toContain('EDGE: "mine" is not a network;')
  })

  it('npm start rejects an app whose host is unknown', async () => {
    const settings = { HTTP_PORT: String(await freePort()), APP_URL: 'http://shop.invalid:3000' }
    const failed = await command('scripts/start.ts', settings, '--plain')
    expect(failed.code).toBe(1)
    expect(failed.stderr).toBe(
      'culvert: APP_URL: the host of http://shop.invalid:3000 is unknown; correct it, or write its IP address.\n',
    )
  })

  it('npm run deploy goes on to look for a Docker Engine only when the settings are right', async () => {
    const failed = await command('scripts/deploy.ts')
    expect(failed).toMatchObject({ code: 1, stdout: '' })
    expect(failed.stderr).toBe('culvert: nothing was built or replaced: no Docker Engine answers.\n')
  })

  it('npm run deploy ends before it builds and before it needs a Docker Engine', async () => {
    const failed = await command('scripts/deploy.ts', { SENTRY_TRACES_SAMPLE_RATE: '2', LOG_LEVEL: 'loud' })
    expect(failed).toMatchObject({ code: 1, stdout: '' })
    expect(failed.stderr).toContain('culvert: nothing was built or replaced, 2 problem(s):\n')
    expect(failed.stderr).toContain('SENTRY_TRACES_SAMPLE_RATE: "2" is not a share;')
  })

  it('npm run deploy rejects an app that containers cannot reach', async () => {
    const failed = await command('scripts/deploy.ts', { APP_URL: 'http://localhost:5173' })
    expect(failed).toMatchObject({ code: 1, stdout: '' })
    expect(failed.stderr).toBe(
      'culvert: nothing was built or replaced: APP_URL is http://localhost:5173, which containers cannot reach; name a service of a docker-compose.override.yml.\n',
    )
  })
})

describe('lostSettings', () => {
  const held = [
    'PATH=/bin',
    'HOST=0.0.0.0',
    'LAB=',
    'SENTRY_DSN=https://key@sentry.example/2',
    'BODY_DIR=/spool/b',
  ]

  it('returns settings of the running containers that are missing here', () => {
    expect(lostSettings(held, {})).toEqual(['BODY_DIR', 'SENTRY_DSN'])
    expect(lostSettings(['SENTRY_DSN_FILE=/run/secrets/sentry-dsn'], {})).toEqual(['SENTRY_DSN'])
  })

  it('accepts settings with another value, with a file, and with an empty value', () => {
    const now = { SENTRY_DSN_FILE: 'dsn', BODY_DIR: '' }
    expect(lostSettings(held, now)).toEqual([])
  })
})

describe('findUnknown', () => {
  it.each([
    ['TRUSTED_PROXYS', 'TRUSTED_PROXIES'],
    ['SENTRY_DNS', 'SENTRY_DSN'],
    ['sentry_dsn', 'SENTRY_DSN'],
    ['SPOOL_BYTE', 'SPOOL_BYTES'],
    ['ALOWED_ORIGIN', 'ALLOWED_ORIGINS'],
    ['OPERATOR_PASSWORT', 'OPERATOR_PASSWORD'],
    ['SENTRY_DSN_FIEL', 'SENTRY_DSN_FILE'],
  ])('reports %s as a misspelt %s', (name, meant) => {
    const told = `${name} is not a setting and has no effect. Did you mean ${meant}?`
    expect(findUnknown({ [name]: 'x' })).toEqual([told])
  })

  it('names what to do instead of a setting that was removed', () => {
    expect(findUnknown({ ADDRESS_BURST: '100' })).toEqual([
      'ADDRESS_BURST is no longer a setting and has no effect. The burst is ten seconds of ADDRESS_RATE: set that.',
    ])
  })

  it('accepts settings, and variables of other programs', () => {
    const others =
      'PATH HOME POST HOSTNAME HOSTTYPE PWD SHLVL USER EDITOR TERM LANG LOGNAME NODE_ENV NODE_OPTIONS NODE_PATH FTP_PROXY ALL_PROXY'
    const foreign =
      'SENTRY_LOG_LEVEL SENTRY_DEBUG SENTRY_TRACE SENTRY_BAGGAGE SENTRY_PROPERTIES GF_SERVER_HTTP_PORT PROJECT_NAME WEB_PORT NGINX_PORT NATS_PORT TUNNEL_PORT'
    const names = [...`${others} ${foreign} https_proxy http_proxy no_proxy`.split(' '), ...SETTING_NAMES]
    expect(findUnknown(Object.fromEntries(names.map((name) => [name, 'x'])))).toEqual([])
  })

  it('is used by all commands, by the renderer of nginx.conf and by the tunnel', async () => {
    const misspelt = { TRUSTED_PROXYS: '10.0.0.0/8' }
    const sentence = 'TRUSTED_PROXYS is not a setting and has no effect. Did you mean TRUSTED_PROXIES?'
    const wrong = { ...misspelt, LOG_LEVEL: 'x', TUNNEL_PATHS: 'x' }
    for (const script of ['start', 'deploy', 'config'])
      expect((await command(`scripts/${script}.ts`, wrong)).stderr).toContain(sentence)
    const rendered = await command('deploy/nginx/write-config.ts', wrong, '/nowhere/nginx.conf')
    expect(rendered.stderr).toContain(sentence)
    expect((await command('doctor/main.ts', misspelt, '--help')).stderr).toContain(sentence)
    await using tunnel = await startTunnel({ env: misspelt })
    expect(await tunnel.log(({ msg }) => msg === sentence)).toMatchObject({ level: 'warn' })
  })
})

describe('The arguments of a command', () => {
  it.each([
    ['npm start', '--help', 'scripts/start.ts'],
    ['npm run config', '-h', 'scripts/config.ts'],
    ['npm run deploy', '--help', 'scripts/deploy.ts'],
    ['npm run doctor', '-h', 'doctor/main.ts'],
  ])('%s -- %s prints the usage', async (name, flag, file) => {
    const { code, stdout, stderr } = await command(file, { LOG_LEVEL: 'x' }, flag)
    expect({ code, stderr }).toEqual({ code: undefined, stderr: '' })
    expect(stdout).toMatch(new RegExp(`^${name}\\b`))
  })

  it.each(['config', 'deploy'])('an unknown flag is rejected: npm run %s', async (name) => {
    const { code, stderr } = await command(`scripts/${name}.ts`, {}, '--quick')
    expect(code).toBe(1)
    expect(stderr).toContain(`"--quick" is not a flag of npm run ${name}.`)
  })
})
