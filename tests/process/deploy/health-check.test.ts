/** Health check of the tunnel's image. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { freePort } from '../../../scripts/start/free-port.ts'
import { NODE, ROOT } from '../../support/node.ts'
import { startProgram } from '../../support/program.ts'
import { startTunnel } from '../../support/tunnel/tunnel.ts'

const [, COMMAND = ''] =
  /^HEALTHCHECK .*\n +CMD (\[.*\])$/m.exec(readFileSync(join(ROOT, 'Dockerfile.tunnel'), 'utf8')) ?? []

describe('The health check of the tunnel image', () => {
  it.each(['', '127.0.0.1:', 'localhost:'])('reaches a tunnel with ADMIN_PORT=%s<port>', async (host) => {
    const ADMIN_PORT = `${host}${await freePort()}`
    const tunnel = await startTunnel({ env: { ADMIN_PORT } })
    expect(await check({ ADMIN_PORT })).toBe(0)
    await tunnel.stop()
    expect(await check({ ADMIN_PORT })).toBe(1)
  })
})

/** Returns the exit code. */
async function check(env: Record<string, string>): Promise<number | null> {
  const [, ...args] = JSON.parse(COMMAND)
  return (await startProgram('The health check', NODE, args, env).exited).code
}
