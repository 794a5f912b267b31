/** Optional parts of the tunnel, which are loaded only where they are switched on. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { makeMemoryFolder } from '../../support/temporary-folder.ts'
import { startTunnel } from '../../support/tunnel/tunnel.ts'

const PRELOAD = new URL('../../support/tunnel/note-modules-preload.ts', import.meta.url).href
const DSN = 'http://key@127.0.0.1:9/1'
const MIRROR = 'http://key@127.0.0.1:9/2'
const PARTS = {
  scrubbing: /\/policy\/scrub\/(?!scrub-stage\.)/, // the stage itself has no code of scrubbing
  mirrors: /\/forward\/mirrors\.ts$/,
  JetStream: /\/store\/jetstream\/|@nats-io/,
  alerts: /\/admin\/alerts\//,
  email: /\/nodemailer\//,
}

/** Returns the optional parts that a tunnel has loaded when it listens. */
async function partsOf(env: Record<string, string>): Promise<string[]> {
  await using folder = await makeMemoryFolder()
  const file = join(folder.path, 'modules')
  await using _ = await startTunnel({
    env: { SENTRY_DSN: DSN, ...env, NODE_OPTIONS: `--import ${PRELOAD}`, TEST_MODULES: file },
  })
  const modules = readFileSync(file, 'utf8').trim().split('\n')
  expect(modules.length).toBeGreaterThan(50)
  return Object.entries(PARTS).flatMap(([name, part]) => (modules.some((url) => part.test(url)) ? name : []))
}

describe('A tunnel', () => {
  it('loads no optional part without its setting', async () => {
    expect(await partsOf({})).toEqual([])
  })

  it.each([
    ['scrubbing', { SCRUB: 'default' }],
    ['mirrors', { MIRROR_DSN: `${DSN}->${MIRROR}` }],
    ['JetStream', { SPOOL_URL: 'nats://127.0.0.1:9' }],
    ['alerts', { ALERT_URL: 'smtp://127.0.0.1:9/?from=a@b.example&to=c@d.example' }],
  ])('loads %s with %j', async (part, env) => {
    expect(await partsOf(env)).toEqual([part])
  })
})
