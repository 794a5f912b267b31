/** Attackers with public addresses against nginx and two tunnels, beside a valid visitor who reports errors. */

import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Nginx, startNginx } from '../../support/nginx/nginx.ts'
import { requires } from '../../support/requirements.ts'
import type { Attacker, Campaign, CampaignResult } from '../../support/security/attackers.ts'
import { type Attack, findEntry } from '../../support/security/corpus.ts'
import { type CountingSentry, startCountingSentry } from '../../support/security/counting-sentry.ts'
import { watchMemory } from '../../support/security/peak-memory.ts'
import { type SmallTunnel, startSmallTunnel } from '../../support/security/small-tunnel.ts'
import { startVisitor } from '../../support/security/visitor.ts'

const MAX_PEAK = 288 // MiB: three quarters of the container's memory
const CAMPAIGN_MS = 3_000
const HALF_OPEN = 2_000
const PER_ADDRESS = 10 // connections
const HONEST = { headers: { 'x-forwarded-for': '1.1.1.1' }, pauseMs: 100, isSteady: true, gzipEvery: 10 }

/** Attacks that each attacker sends in turn. */
const WEAPONS: readonly (readonly string[])[] = [
  ['br bomb, valid DSN, reserved key', 'gzip bomb, valid DSN', 'br bomb of 300 MB'],
  ['1,000 item headers of empty objects', '1,000 item headers of distinct keys', '1,000,000 items'],
  ['zstd window of 128 MiB', 'zstd window of 128 MiB, foreign DSN', 'zstd bomb, valid DSN, reserved key'],
  ['event of 1 MB: distinct keys', 'random JSON in 300 item headers', 'deep objects in 300 item headers'],
  ['zstd bomb, one byte at a time'],
]

describe('With nginx and limits by client address, the tunnels', requires('nginx', 'proc'), () => {
  let started: AsyncDisposableStack
  let sentry: CountingSentry
  let tunnels: SmallTunnel[]
  let nginx: Nginx

  beforeEach(async () => {
    started = new AsyncDisposableStack()
    sentry = started.use(await startCountingSentry())
    tunnels = [
      started.use(await startSmallTunnel(sentry.dsn)),
      started.use(await startSmallTunnel(sentry.dsn)),
    ]
    nginx = started.use(
      await startNginx({
        tunnels: tunnels.map(({ port }) => `127.0.0.1:${port}`),
        web: '127.0.0.1:9', // no web
        env: { TRUSTED_PROXIES: '127.0.0.1' },
      }),
    )
  })

  afterEach(() => started.disposeAsync())

  it('deliver all valid envelopes while 20 attackers send the most expensive requests of the corpus', async () => {
    const arsenals = await Promise.all(WEAPONS.map(build))
    await withstand(
      Array.from({ length: 20 }, (_, n) => ({
        address: `8.8.${n}.8`,
        connections: PER_ADDRESS,
        attacks: arsenals[n % arsenals.length] ?? [],
      })),
    )
  })

  it('deliver all valid envelopes while 2,000 uploads are half open', async () => {
    const attacks = await build(['half-open upload'])
    await withstand(
      Array.from({ length: HALF_OPEN / PER_ADDRESS }, (_, n) => ({
        address: `9.9.${n}.9`,
        connections: PER_ADDRESS,
        attacks,
      })),
    )
  })

  async function withstand(attackers: Attacker[]): Promise<void> {
    const memories = tunnels.map(({ pid }) => watchMemory(pid))
    const visitor = startVisitor(nginx.url, sentry.dsn, HONEST)
    const { statuses, faults } = await campaign({ url: nginx.url, attackers, ms: CAMPAIGN_MS })
    const { eventIds, failures, slowestMs } = await visitor.end()
    const peaks = memories.map((memory) => memory.end().peak)
    console.log(statuses, { honest: eventIds.length, failures, slowestMs, peaks })
    expect([...new Set(failures)]).toEqual([])
    await sentry.received(eventIds)
    expect(faults).toEqual([])
    expect(await Promise.all(tunnels.map(({ isAlive }) => isAlive()))).toEqual([true, true])
    expect(Math.max(...peaks)).toBeLessThan(MAX_PEAK)
  }

  function build(names: readonly string[]): Promise<Attack[]> {
    const dsns = { valid: sentry.dsn, foreign: sentry.foreignDsn }
    return Promise.all(names.map((name) => findEntry(name).build(dsns)))
  }
})

/** Runs the attackers in their own thread. */
async function campaign(workerData: Campaign): Promise<CampaignResult> {
  const worker = new Worker(new URL('../../support/security/attackers.ts', import.meta.url), { workerData })
  const [result]: CampaignResult[] = await once(worker, 'message')
  await worker.terminate()
  return result ?? expect.unreachable()
}
