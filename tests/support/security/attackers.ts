/** Worker thread of attackers, each with its own address: the test's thread is free for Sentry and the valid visitor. */

import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { faultOf, type Outcome, send, tally } from './attack.ts'
import type { Attack } from './corpus.ts'

export type Attacker = {
  /** Client address, as a trusted proxy forwards it. */
  address: string
  connections: number
  /** Attacks, sent in turn. */
  attacks: Attack[]
}

export type Campaign = { url: string; attackers: Attacker[]; ms: number }

/** Statuses by attack, and outcomes that neither tunnel nor nginx may return. */
export type CampaignResult = { statuses: Record<string, string>; faults: string[] }

const PAUSE_MS = 200 // of each connection
const PATIENCE_MS = 8_000 // shorter than nginx waits for the next byte

const { url, attackers, ms }: Campaign = workerData
const end = Date.now() + ms
const outcomes = new Map<string, Outcome[]>()
const faults = new Set<string>()

await Promise.all(
  attackers.flatMap((attacker) =>
    Array.from({ length: attacker.connections }, (_, first) => attackFrom(attacker, first)),
  ),
)
const statuses = Object.fromEntries([...outcomes].map(([name, list]) => [name, tally(list)]))
parentPort?.postMessage({ statuses, faults: [...faults] } satisfies CampaignResult)

async function attackFrom({ address, attacks }: Attacker, first: number): Promise<void> {
  for (let n = first; Date.now() < end; n++) {
    const attack = attacks[n % attacks.length]
    if (!attack) return
    const deadlineMs = Math.max(1, Math.min(PATIENCE_MS, end - Date.now()))
    const whole = { ...attack, body: Buffer.from(attack.body) } // messages between threads contain plain bytes only
    const outcome = await send(url, whole, { deadlineMs, headers: { 'x-forwarded-for': address } })
    outcomes.set(attack.name, [...(outcomes.get(attack.name) ?? []), outcome])
    const wasCutShort = outcome.status === 0 && !outcome.broken
    const fault = wasCutShort ? undefined : faultOf(attack, outcome)
    if (fault) faults.add(`${attack.name}: ${fault}`)
    await sleep(PAUSE_MS)
  }
}
