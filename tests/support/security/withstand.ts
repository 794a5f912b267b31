/** Attacks a tunnel while a valid visitor posts errors, and measures the cost. */

import { cpuSeconds } from '../../../bench/load/process-cost.ts'
import { allowedBytes, faultOf, send, sendTogether, tally } from './attack.ts'
import type { Attack } from './corpus.ts'
import type { CountingSentry } from './counting-sentry.ts'
import { watchMemory } from './peak-memory.ts'
import { startVisitor } from './visitor.ts'

export type Target = {
  /** URL with scheme, host and port. */
  url: string
  /** PID of the tunnel on this machine. */
  pid: number
  sentry: CountingSentry
  isAlive: () => Promise<boolean>
}

/** Cost of one attack. */
export type Cost = {
  attack: string
  statuses: string
  /** Duration of the slowest response. */
  seconds: number
  /** MiB. */
  peak: number
  rise: number
  bytesSent: number
  bytesUpstream: number
  /** Slowest response to the valid visitor. */
  honestMs: number
  /** Guarantees that did not hold, as sentences. */
  faults: string[]
}

const MAX_PEAK = 288 // MiB: three quarters of the container's memory
const MAX_RISE = 100 // MiB
const MAX_CPU_SECONDS = 2.5 // of the process, whatever else the machine does
const MAX_HONEST_MS = 2_000
const DEADLINE_MS = 20_000
const OPEN_MS = 1_000 // time for which an upload that never ends is watched
const HONEST_PAUSE_MS = 20

/** Posts the attack `count` times in parallel, beside a valid visitor. */
export async function attackTogether(target: Target, attack: Attack, count: number): Promise<Cost> {
  const { url, sentry } = target
  const before = sentry.bytes
  const memory = watchMemory(target.pid)
  const visitor = startVisitor(url, sentry.dsn, { pauseMs: HONEST_PAUSE_MS })
  const outcomes = await sendTogether(url, attack, count, { deadlineMs: deadlineOf(attack) })
  const visit = await visitor.end()
  const { idle, peak } = memory.end()
  const bytesUpstream = sentry.bytes - before
  const most = allowedBytes(outcomes) + visit.sentBytes
  const missing = visit.eventIds.filter((id) => !sentry.eventIds.has(id)).length
  return {
    attack: `${count} × ${attack.name}`,
    statuses: tally(outcomes),
    seconds: Math.max(...outcomes.map(({ seconds }) => seconds)),
    peak,
    rise: peak - idle,
    bytesSent: outcomes.reduce((sum, { sentBytes }) => sum + sentBytes, 0),
    bytesUpstream,
    honestMs: visit.slowestMs,
    faults: [
      ...(await aliveFaults(target)),
      ...new Set(outcomes.flatMap((outcome) => faultOf(attack, outcome) ?? [])),
      ...fault(peak, MAX_PEAK, 'MiB of memory at the peak'),
      ...fault(visit.slowestMs, MAX_HONEST_MS, 'ms for an honest envelope'),
      ...new Set(visit.failures.map((failure) => `an honest envelope got ${failure}`)),
      ...fault(missing, 0, 'honest envelopes lost'),
      ...fault(bytesUpstream, most, 'bytes sent to Sentry'),
    ],
  }
}

/** Posts the attack once, alone. */
export async function attackAlone(
  target: Target,
  attack: Attack,
  { maxCpuSeconds = MAX_CPU_SECONDS, maxRise = MAX_RISE } = {},
): Promise<Cost> {
  const before = target.sentry.bytes
  const memory = watchMemory(target.pid)
  const cpuBefore = cpuSeconds(target.pid)
  const outcome = await send(target.url, attack, { deadlineMs: deadlineOf(attack) })
  const { idle, peak } = memory.end()
  const bytesUpstream = target.sentry.bytes - before
  const cpu = cpuSeconds(target.pid) - cpuBefore
  return {
    attack: attack.name,
    statuses: tally([outcome]),
    seconds: outcome.seconds,
    peak,
    rise: peak - idle,
    bytesSent: outcome.sentBytes,
    bytesUpstream,
    honestMs: 0,
    faults: [
      ...(await aliveFaults(target)),
      ...[faultOf(attack, outcome) ?? []].flat(),
      ...fault(peak - idle, maxRise, 'MiB of memory above idle'),
      ...fault(cpu, maxCpuSeconds, 'seconds of CPU time'),
      ...fault(bytesUpstream, allowedBytes([outcome]), 'bytes sent to Sentry'),
    ],
  }
}

function deadlineOf({ isTrickle, withheldBytes }: Attack): number {
  return isTrickle || withheldBytes !== undefined ? OPEN_MS : DEADLINE_MS
}

async function aliveFaults({ isAlive }: Target): Promise<string[]> {
  return (await isAlive()) ? [] : ['the tunnel died']
}

function fault(measured: number, most: number, unit: string): string[] {
  return measured <= most ? [] : [`${rounded(measured)} ${unit}, at most ${rounded(most)} allowed`]
}

function rounded(value: number): string {
  return value.toFixed(Number.isInteger(value) || value >= 1_000 ? 0 : 1)
}

/** Formats one line for each attack, for the output of the test. */
export function describeCosts(costs: readonly Cost[]): string {
  const rows = costs.map((cost) =>
    [
      `${cost.seconds.toFixed(2)} s`.padStart(8),
      `${cost.peak.toFixed(0)} MiB`.padStart(9),
      `+${cost.rise.toFixed(0)}`.padStart(5),
      `${cost.bytesSent} B in`.padStart(12),
      `${cost.bytesUpstream} B out`.padStart(16),
      `honest ${cost.honestMs.toFixed(0)} ms`.padStart(15),
      `${cost.faults.length > 0 ? 'FAILED' : 'held'} ${cost.attack}: ${cost.statuses}`,
    ].join(' '),
  )
  return rows.join('\n')
}
