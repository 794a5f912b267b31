/** Tunnel process with about the memory of the shipped container. */

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { ROOT } from '../node.ts'
import { startTunnel } from '../tunnel/tunnel.ts'

const HEAP = '--max-old-space-size=128 --max-semi-space-size=4'
const SHIPPED_SPOOL_BYTES = String(5 * 1024 ** 3) // 5 GiB

/** Settings of the C library in the image: without them its malloc holds several times the memory in use. */
const MALLOC = Object.fromEntries(
  [...readFileSync(resolve(ROOT, 'Dockerfile.tunnel'), 'utf8').matchAll(/(MALLOC_\w+)=(\d+)/g)].map(
    ([, name = '', value = '']) => [name, value],
  ),
)

export type SmallTunnel = Awaited<ReturnType<typeof startSmallTunnel>>

/** Starts the tunnel. `await using` kills it: one that has died must not hide the result of the test. */
export async function startSmallTunnel(dsn: string) {
  const env = { SENTRY_DSN: dsn, SPOOL_BYTES: SHIPPED_SPOOL_BYTES, NODE_OPTIONS: HEAP, ...MALLOC }
  const tunnel = await startTunnel({ env })
  const isAlive = () =>
    fetch(`${tunnel.adminUrl}/livez`).then(
      ({ ok }) => ok,
      () => false,
    )
  return {
    url: tunnel.url,
    port: tunnel.port,
    pid: tunnel.pid ?? 0,
    isAlive,
    admin: tunnel.admin,
    [Symbol.asyncDispose]: tunnel.kill,
  }
}
