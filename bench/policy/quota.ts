/** Measures the CPU time that storm protection and quotas add to an envelope: `node bench/policy/quota.ts`. */

import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { capture } from '../../tests/support/sdk-captures.ts'
import { parseDsn } from '../../tunnel/src/envelope/dsn.ts'
import { DEFAULT_HEADER_LIMITS } from '../../tunnel/src/envelope/headers.ts'
import { EnvelopeReader } from '../../tunnel/src/envelope/reader.ts'
import { Context } from '../../tunnel/src/pipeline.ts'
import { Quotas } from '../../tunnel/src/policy/quota/quotas.ts'
import { parseQuota } from '../../tunnel/src/policy/quota/settings.ts'
import { quotaStage } from '../../tunnel/src/policy/quota/stage.ts'
import { stormStage } from '../../tunnel/src/policy/storm/stage.ts'
import { Storms } from '../../tunnel/src/policy/storm/storms.ts'
import { createProjects } from '../../tunnel/src/projects.ts'
import { spreadOf } from '../report/statistics.ts'
import { renderTable } from '../report/table.ts'

const ROUNDS = 9
const RUNS = 400 // of a round

const BODIES = {
  '3.3 KB error': 'nextjs-11.1.0-init-tunnel-2-event',
  '40 KB span batch': 'nextjs-11.1.0-init-tunnel-3-span',
  replay: 'browser-11.12.0-replay-2',
} as const

const LIMITS = 'error=1000000000,span=1000000000,replay=1000000000'

const POLICIES = {
  off: {},
  storms: { hasStorms: true },
  quotas: { limits: LIMITS },
  both: { hasStorms: true, limits: LIMITS },
} as const

type Policies = { hasStorms?: boolean; limits?: string }

const [project] = createProjects(['https://a@sentry.example/1'].flatMap((dsn) => parseDsn(dsn) ?? [])).all

/** Returns a function that parses an envelope, and runs the stages. */
function createRun(body: Buffer, { hasStorms, limits }: Policies): () => void {
  const onRemoved = () => {}
  const storms = hasStorms
    ? new Storms(
        { limit: 100, mode: 'enforce', reading: 'all' },
        { now: Date.now, onRemoved, scrub: (title) => title },
      )
    : undefined
  const day = parseQuota(limits ?? '').limits
  const isFirstOccurrence = () => false
  const deps = { now: Date.now, random: Math.random, isFirstOccurrence, onRemoved, onCounted: onRemoved }
  const quotas = limits ? new Quotas({ limits: { day, hour: [] }, mode: 'enforce' }, deps) : undefined
  const stages = [stormStage(storms), quotaStage(quotas)]
  const keep = (type: string) => [storms, quotas].some((policy) => policy?.reads(type))
  const incoming = new IncomingMessage(new Socket())
  const client = { address: '203.0.113.7', requestId: '', isRetry: false }
  return () => {
    const reader = new EnvelopeReader({ ...DEFAULT_HEADER_LIMITS, items: 1000, keep })
    reader.push(body)
    const ctx = new Context(incoming, client, 0, { id: '', time: 0, items: [], bytes: 0, replica: '' })
    ctx.envelope = reader.end()
    if (project) ctx.project = project
    for (const stage of stages) stage(ctx)
    ctx.onOutcome?.({ outcome: 'delivered', status: 200, body: null, headers: {} })
  }
}

/** Returns the CPU time of a run in microseconds. */
function measure(run: () => void): number {
  const start = process.cpuUsage()
  for (let i = 0; i < RUNS; i++) run()
  const { user, system } = process.cpuUsage(start)
  return (user + system) / RUNS
}

const rows = Object.entries(BODIES).map(([kind, name]) => {
  const { body } = capture(name)
  const runs = Object.values(POLICIES).map((policies) => createRun(body, policies))
  for (const run of runs) measure(run)
  const times = runs.map(() => [] as number[])
  for (let round = 0; round < ROUNDS; round++)
    for (const [index, run] of runs.entries()) times[index]?.push(measure(run))
  const [off = 0, ...on] = times.map((each) => spreadOf(each).median)
  return [kind, off.toFixed(1), ...on.map((time) => `+${(time - off).toFixed(1)}`)]
})
console.log(
  renderTable([['CPU time, µs an envelope: parsing, storms, quotas', ...Object.keys(POLICIES)], ...rows]),
)
