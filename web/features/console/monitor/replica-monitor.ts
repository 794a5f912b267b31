/** Polls the status of every replica. Reads figures, and counts nothing. */

import type { OperatorAction, ReplicaStatus } from 'contract/admin-api'
import { categoryLabel } from 'contract/categories'
import type { FiguresReading } from 'contract/situation/problems'
import type { Situation } from 'contract/situation/situation'
import { type UpstreamView, upstreamsOf } from 'contract/situation/upstreams'
import type { SpoolStatus } from 'contract/spool'
import type { LimitInForce } from 'contract/upstream'
import { formatQuantity } from '../../../lib/format.ts'
import { type Range, type RangeKey, RECENT } from '../figures/range.ts'
import { type AskFigures, readFigures } from '../figures/read-figures.ts'
import { Replicas, type ReplicaView } from './replicas.ts'
import { findStore, situationOf } from './situation.ts'
import { groupUpstreams, type UpstreamGroup } from './upstream-groups.ts'

/** Change of a replica, an upstream or the spool, or by an operator. */
export type Change = { time: number; text: string }

export type Snapshot = {
  time: number
  replicas: ReplicaView[]
  /** Store of the site, as the tunnels that use it report it; absent until one has. */
  spool: SpoolStatus | undefined
  /** Tunnels that respond for the store. */
  origins: string[]
  /** Milliseconds until it ends; absent without one. */
  simulatedOutage?: number
  limits: LimitInForce[]
  upstreams: UpstreamView[]
  upstreamGroups: UpstreamGroup[]
  projects: string[]
  /** Newest first. */
  changes: Change[]
  situation: Situation
  /** Figures of the last 15 minutes. */
  recent: FiguresReading
}

export type MonitorDeps = {
  origins: () => Promise<string[]>
  /** Rejects when the replica does not respond. */
  ask: (origin: string) => Promise<ReplicaStatus>
  askFigures: AskFigures
  /** Milliseconds since 1970. */
  now: () => number
}

const MAX_CHANGES = 50
/** Operators share readings. */
const FIGURES_AGE_MS = 3_000

export class Monitor {
  readonly #deps: MonitorDeps
  readonly #replicas = new Replicas((time, text) => {
    this.#changes = [{ time, text }, ...this.#changes].slice(0, MAX_CHANGES)
  })
  #changes: Change[] = []
  readonly #readings = new Map<RangeKey, { time: number; reading: Promise<FiguresReading> }>()
  #last: Snapshot | undefined
  #polling: Promise<Snapshot> | undefined

  constructor(deps: MonitorDeps) {
    this.#deps = deps
  }

  /** Returns the last snapshot unless it is older than `maxAgeMs`. */
  async snapshot(maxAgeMs: number): Promise<Snapshot> {
    if (this.#last && this.#deps.now() - this.#last.time < maxAgeMs) return this.#last
    this.#polling ??= this.#poll().finally(() => {
      this.#polling = undefined
    })
    return this.#polling
  }

  /** Polls the replicas now. A poll that has begun before does not count. */
  async refresh(): Promise<Snapshot> {
    await this.#polling?.catch(() => {})
    return this.snapshot(0)
  }

  /** Returns the figures of a range, at most some seconds old. */
  async figures(range: Range): Promise<FiguresReading> {
    if (range.key === RECENT.key) return (await this.snapshot(FIGURES_AGE_MS)).recent
    const now = this.#deps.now()
    const last = this.#readings.get(range.key)
    if (last && now - last.time < FIGURES_AGE_MS) return last.reading
    const reading = this.snapshot(FIGURES_AGE_MS).then(({ origins }) => this.#read(origins, range))
    this.#readings.set(range.key, { time: now, reading })
    return reading
  }

  #read(origins: readonly string[], range: Range): Promise<FiguresReading> {
    const { askFigures: ask, now } = this.#deps
    return readFigures(origins, { range, now: now(), ask })
  }

  async #poll(): Promise<Snapshot> {
    const { origins, ask, now } = this.#deps
    const asked = (await origins()).map(
      async (origin) => [origin, await ask(origin).catch(() => undefined)] as const,
    )
    const responses = new Map(await Promise.all(asked))
    const time = now()
    this.#replicas.update(responses, time)
    const members = findStore(this.#replicas.views()).members
    const ofStore = members.map(({ origin }) => origin)
    this.#last = this.#describe(time, ofStore, await this.#read(ofStore, RECENT))
    return this.#last
  }

  #describe(time: number, origins: string[], recent: FiguresReading): Snapshot {
    const replicas = this.#replicas.views()
    const responding = replicas.filter(({ state }) => state === 'responding')
    const spool = spoolOf(findStore(replicas).members)
    const simulatedOutage = simulatedOutageOf(responding.flatMap(({ status }) => status ?? []))
    const upstreams = upstreamsOf(responding)
    const upstreamGroups = groupUpstreams(upstreams)
    const limits = latestLimits(responding.flatMap(({ status }) => status?.limits ?? []))
    const situation = situationOf(replicas, this.#last?.situation)
    return {
      ...{ time, replicas, spool, origins, upstreams, upstreamGroups, limits, situation, recent },
      ...(simulatedOutage && { simulatedOutage }),
      changes: this.#changesWith(replicas),
      projects: [...new Set(responding.flatMap(({ status }) => status?.projects ?? []))],
    }
  }

  /** Adds the actions of operators, each of which one replica has carried out. */
  #changesWith(replicas: readonly ReplicaView[]): Change[] {
    const actions = replicas.flatMap(({ status }) => status?.actions ?? [])
    return [
      ...this.#changes,
      ...actions.map((action) => ({ time: action.time, text: describeAction(action) })),
    ]
      .toSorted((a, b) => b.time - a.time)
      .slice(0, MAX_CHANGES)
  }
}

/** Each replica learns separately whether a shared spool accepts envelopes: the latest counts. */
function spoolOf(members: readonly ReplicaView[]): SpoolStatus | undefined {
  const reports = members.flatMap(({ status }) => status?.spool ?? []).toSorted((a, b) => a.since - b.since)
  return reports.length === 0 ? undefined : Object.assign({}, ...reports)
}

/** Returns each limit once. Its end can differ between replicas: the latest counts. */
export function latestLimits(limits: readonly LimitInForce[]): LimitInForce[] {
  const longest = new Map<string, LimitInForce>()
  for (const limit of limits) {
    const name = `${limit.project} ${limit.category}`
    if (limit.until > (longest.get(name)?.until ?? 0)) longest.set(name, limit)
  }
  return [...longest.values()]
}

const VERBS: Record<OperatorAction['action'], string> = {
  'spool-retry': 'retried',
  'spool-purge': 'purged',
  'spool-pause': 'paused delivery',
  'spool-resume': 'resumed delivery',
  'store-resend': 'sent again',
  'store-purge': 'purged',
  'store-erase': 'erased a user’s',
  'store-stop': 'stopped sending again',
  'inbox-delete': 'deleted',
}

function placeOf({ action, project }: OperatorAction): string {
  if (action === 'inbox-delete') return ' from the inbox'
  return ` of ${project ?? 'all projects'}`
}

/** Returns a sentence without a full stop: the operator, the change, and its scope. */
function describeAction(action: OperatorAction): string {
  const { operator, client_address: client, envelopes, category } = action
  const who = operator ? `Operator ${operator}` : `Admin API client ${client ?? 'of unknown address'}`
  const count = envelopes === undefined ? '' : ` ${formatQuantity(envelopes, 'envelope')}`
  const place = placeOf(action)
  const kind = category === undefined ? '' : `, ${categoryLabel(category)}`
  return `${who} ${VERBS[action.action]}${count}${place}${kind}`
}

/** Returns the milliseconds until the last simulated outage ends; `undefined` without one. */
function simulatedOutageOf(statuses: readonly Pick<ReplicaStatus, 'simulated_outage'>[]): number | undefined {
  const remainingMs = Math.max(0, ...statuses.map((status) => status.simulated_outage?.remaining_ms ?? 0))
  return remainingMs > 0 ? remainingMs : undefined
}
