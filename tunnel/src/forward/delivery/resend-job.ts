/** Sends many ended entries again, slowly: one replica does it, and another one takes over when it is gone. */

import type { ResendableState, ResendJob, ResendStarted } from 'contract/store'
import { isMirrorKey, type Project, type Projects } from '../../pipeline/projects.ts'
import { changeShared, parseShared, type SharedState } from '../../pipeline/shared-state.ts'
import type { EndedFilter, EndedPlace, PartitionTotals, Spool, SpoolEntry } from '../../pipeline/spool.ts'
import type { UpstreamLimits } from '../limits/upstream-limits.ts'
import type { Deliverer } from './delivery.ts'

type ResendDeps = {
  spool: Pick<Spool, 'entries' | 'totals'> & { state: Pick<SharedState, 'get' | 'put' | 'clockOffsetMs'> }
  deliverer: Pick<Deliverer, 'capacity' | 'noteResent'>
  limits: Pick<UpstreamLimits, 'limitedCategories'>
  projects: Projects
  replica: string
  /** Returns the number of envelopes that upstreams have accepted at once. */
  deliveredLive: () => number
  /** Counts an entry that is pending again. */
  onResent: (entry: SpoolEntry) => void
  /** Receives errors of the store; the next step tries again. */
  onError: (error: unknown) => void
  /** Milliseconds since 1970. */
  now: () => number
}

/** Entries to send again. `projectName` is the project as the console shows it. */
export type ResendOrder = {
  states: readonly ResendableState[]
  /** DSNs, without a secret. */
  projects?: readonly string[]
  projectName?: string
  eventId?: string
  from?: number
  to?: number
  limit?: number
  /** Projects of the entries, absent when envelopes can be delivered to all of them. */
  found?: { deliverable: readonly string[]; undeliverable: readonly string[] }
}

/** Job as the replicas share it. Its times are those of the store's clock. `beat` is the last one at which its owner wrote it. */
type SharedJob = {
  order: ResendOrder
  started: number
  entries: number
  bytes: number
  sent: number
  bytesSent: number
  /** Place at which the next step begins; absent before the first one. */
  after?: EndedPlace
  samples: { time: number; sent: number }[]
  waiting?: string
  owner: string
  beat: number
  stopped?: number
  finished?: number
}

type Step = { entries: SpoolEntry[]; isOver: boolean; after?: EndedPlace; waiting?: string }

const KEY = 'resend'
const STEP_MS = 250
const IDLE_MS = 1_000
const OWNER_MS = 10_000 // after which another replica takes over
const SAMPLE_MS = 10_000
const SHARE = 0.1 // of what the upstreams take
const MAX_RATE = 250 // a second
/** Rate of live traffic and job together to an idle upstream. The capacity of a quiet site's upstream is unknown. */
const IDLE_RATE = 50
const MAX_PENDING = 50 // some entries may be pending for hours, and delay nothing
/** Entries that were resent within this time are left out. */
export const RESENT_MS = 60 * 60 * 1000

export class ResendJobs {
  readonly #deps: ResendDeps
  /** Projects and categories of which this replica has resent entries. */
  readonly #fed = new Set<string>()
  /** Entries that may be resent now, with the fraction that the last steps have left. */
  #allowed = 0
  #allowedAt = 0
  /** Envelopes that were delivered live before the last step. */
  #live = { count: 0, time: 0 }
  #unsaved: { started: number; step: Step } | undefined
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> = Promise.resolve()
  #isStopping = false

  constructor(deps: ResendDeps) {
    this.#deps = deps
  }

  start(): void {
    this.#schedule(IDLE_MS)
  }

  /** Leaves the job to another replica, or to the next start. */
  async stop(): Promise<void> {
    this.#isStopping = true
    clearTimeout(this.#timer)
    await this.#running
  }

  /** Leaves out the entries of projects that are not configured: they would be pending until they expire. */
  async withoutUndeliverable(order: ResendOrder): Promise<ResendOrder> {
    const { spool, projects } = this.#deps
    const { notResentSince: _recent, ...filter } = filterOf(order, this.#deps.now())
    const { projects: keys } = await spool.entries.count(filter)
    const isDeliverable = (key: string) => projects.destinationOf(key) !== undefined
    const undeliverable = keys.filter((key) => !isDeliverable(key))
    if (undeliverable.length === 0) return order
    return { ...order, found: { deliverable: keys.filter(isDeliverable), undeliverable } }
  }

  /** Counts the entries that an order selects now, at most its limit, and those that it leaves out. */
  async count(order: ResendOrder): Promise<ResendStarted> {
    const { entries } = this.#deps.spool
    const { notResentSince, ...filter } = filterOf(order, this.#deps.now())
    const projects = order.found?.undeliverable
    const [all, recent, { entries: selected, bytes }, undeliverable] = await Promise.all([
      entries.count(filter),
      entries.count({ ...filter, notResentSince }),
      entries.count({ ...filter, notResentSince }, order.limit),
      projects ? entries.count({ ...filter, projects }) : { entries: 0 },
    ])
    const skipped = all.entries - recent.entries
    return { entries: selected, bytes, skipped, undeliverable: undeliverable.entries }
  }

  /** Reports whether a configured project accepts the entries that an order selects. */
  isDeliverable(order: Pick<ResendOrder, 'projects'>): boolean {
    return this.#deps.deliverer.capacity(this.#isWanted(order)) !== undefined
  }

  /** Makes one entry pending. Returns `undefined` when it is gone, has no body, or is pending already. */
  async resendOne(filter: EndedFilter): Promise<SpoolEntry | undefined> {
    const { entries } = await this.#deps.spool.entries.resend(filter, 1)
    for (const entry of entries) this.#noteResent(entry)
    return entries[0]
  }

  /** Begins a job. Returns `false` while another one runs. */
  async begin(order: ResendOrder, { entries, bytes }: { entries: number; bytes: number }): Promise<boolean> {
    const started = this.#time()
    const job: SharedJob = {
      order,
      started,
      entries: Math.min(entries, order.limit ?? Infinity),
      bytes,
      sent: 0,
      bytesSent: 0,
      samples: [],
      owner: '',
      beat: 0,
    }
    const begun = await this.#change((current) => (isRunning(current) ? undefined : job))
    return begun !== undefined
  }

  /** Ends the job, if one runs, within a step of any replica. */
  async cancel(): Promise<ResendJob | undefined> {
    const stopped = this.#time()
    const job = await this.#change((current) => (isRunning(current) ? { ...current, stopped } : undefined))
    return job && describeJob(job, this.#offsetMs())
  }

  /** Returns the last job. */
  async status(): Promise<ResendJob | undefined> {
    const job = parseShared<SharedJob>((await this.#deps.spool.state.get(KEY)).value)
    return job && describeJob(job, this.#offsetMs())
  }

  #schedule(ms: number): void {
    if (this.#isStopping) return
    this.#timer = setTimeout(() => {
      this.#running = this.#tick()
        .catch((error) => {
          this.#deps.onError(error)
          return IDLE_MS
        })
        .then((ms) => this.#schedule(ms))
    }, ms).unref()
  }

  /** Does a step, unless another replica does the work. Returns the milliseconds until the next one: each writes to the disk. */
  async #tick(): Promise<number> {
    const { spool, replica } = this.#deps
    await this.#save()
    const known = parseShared<SharedJob>((await spool.state.get(KEY)).value)
    if (!isRunning(known) || !this.#mayOwn(known)) return IDLE_MS
    if (known.owner !== replica) {
      const owned = await this.#change((job) =>
        isRunning(job) && this.#mayOwn(job) ? { ...job, owner: replica, beat: this.#time() } : undefined,
      )
      if (!owned) return IDLE_MS
    }
    const step = await this.#step(known)
    this.#unsaved = { started: known.started, step }
    await this.#save()
    return step.waiting === undefined ? STEP_MS : IDLE_MS
  }

  /** Adds the last step to the job. Its entries are pending, so that it has to be added later if the store fails now. */
  async #save(): Promise<void> {
    if (!this.#unsaved) return
    const { started, step } = this.#unsaved
    await this.#change((job) => (job?.started === started ? this.#add(job, step) : undefined))
    this.#unsaved = undefined
  }

  #mayOwn({ owner, beat }: SharedJob): boolean {
    return owner === this.#deps.replica || Math.abs(this.#time() - beat) > OWNER_MS
  }

  /** Returns the time of the store: the clocks of its replicas may differ. */
  #time(): number {
    return this.#deps.now() + this.#offsetMs()
  }

  #offsetMs(): number {
    return this.#deps.spool.state.clockOffsetMs()
  }

  async #step(job: SharedJob): Promise<Step> {
    const { spool, deliverer } = this.#deps
    const { order, sent } = job
    const left = (order.limit ?? Infinity) - sent
    const waitFor = (waiting: string): Step => ({ entries: [], isOver: false, waiting })
    const capacity = deliverer.capacity(this.#isWanted(order))
    if (capacity === undefined) return { entries: [], isOver: true } // its project is not configured any more
    const { pending, isIdle } = await this.#readPending(order)
    const idleRate = this.#idleRate()
    if (capacity === 0) return waitFor('the upstream takes no envelopes')
    const rate = Math.max(capacity * SHARE, isIdle ? idleRate : 0)
    const batch = Math.min(left, this.#allowance(Math.min(MAX_RATE, rate)))
    if (batch === 0) return { entries: [], isOver: false }
    if (pending >= MAX_PENDING + batch) return waitFor('other envelopes are pending')
    const filter = filterOf(order, job.started - this.#offsetMs())
    const { entries, isOver, after } = await spool.entries.resend(filter, batch, job.after)
    this.#allowed -= entries.length
    for (const entry of entries) {
      this.#noteResent(entry)
      this.#fed.add(`${entry.project} ${entry.category}`)
    }
    return { entries, isOver: isOver || entries.length >= left, ...(after && { after }) }
  }

  #noteResent(entry: SpoolEntry): void {
    this.#deps.deliverer.noteResent(entry.project)
    this.#deps.onResent(entry)
  }

  /** Returns the unused part of the rate to an idle upstream since the last step. */
  #idleRate(): number {
    const { count, time } = this.#live
    this.#live = { count: this.#deps.deliveredLive(), time: this.#deps.now() }
    const seconds = Math.max(STEP_MS, this.#live.time - time) / 1000
    return Math.max(0, IDLE_RATE - (this.#live.count - count) / seconds)
  }

  /** Returns how many entries may be resent now. */
  #allowance(perSecond: number): number {
    const time = this.#deps.now()
    const elapsedMs = Math.min(STEP_MS, Math.max(0, time - this.#allowedAt))
    this.#allowed = Math.min(1, this.#allowed) + (perSecond * elapsedMs) / 1000
    this.#allowedAt = time
    return Math.floor(this.#allowed)
  }

  /** A mirror that is away does not hold back a job for all projects. */
  #isWanted({ projects: keys }: Pick<ResendOrder, 'projects'>): (project: Project) => boolean {
    const { projects } = this.#deps
    return (project) =>
      keys?.some((key) => projects.destinationOf(key) === project) ?? !isMirrorKey(project.key)
  }

  /**
   * Counts pending entries that compete with those of the job. Those that wait for the end of a rate limit do not, nor those of mirrors: some
   * always are. An upstream is idle while neither they nor those that were resent are pending: one that is late is not.
   */
  async #readPending(order: ResendOrder): Promise<{ pending: number; isIdle: boolean }> {
    const { spool, projects, limits } = this.#deps
    const isWanted = this.#isWanted(order)
    const isFed = ({ project, category }: PartitionTotals) => this.#fed.has(`${project} ${category}`)
    const competes = (partition: PartitionTotals) => {
      const { project: key, category } = partition
      const project = projects.destinationOf(key)
      if (!project || isMirrorKey(key) || !isWanted(project)) return false
      return isFed(partition) || !limits.limitedCategories(project).includes(category)
    }
    const { partitions } = await spool.totals()
    const others = partitions.filter(competes)
    return {
      pending: others.reduce((sum, { envelopes }) => sum + envelopes, 0),
      isIdle: [...others, ...partitions.filter(isFed)].every(({ envelopes }) => envelopes === 0),
    }
  }

  #add(job: SharedJob, { entries, isOver, after, waiting }: Step): SharedJob {
    const { replica } = this.#deps
    const { waiting: _waiting, ...others } = job
    const time = this.#time()
    const sent = job.sent + entries.length
    return {
      ...others,
      sent,
      bytesSent: job.bytesSent + entries.reduce((sum, { bytes }) => sum + bytes, 0),
      samples: [...job.samples.filter((sample) => time - sample.time < SAMPLE_MS), { time, sent }].slice(-40),
      ...(after && { after }),
      ...(waiting !== undefined && { waiting }),
      owner: replica,
      beat: time,
      ...(isOver && job.stopped === undefined && { finished: time }),
    }
  }

  /** Stores a changed job, unless `change` returns `undefined`. Returns the stored job. */
  async #change(
    change: (job: SharedJob | undefined) => SharedJob | undefined,
  ): Promise<SharedJob | undefined> {
    let changed: SharedJob | undefined
    await changeShared(this.#deps.spool.state, KEY, (value) => {
      changed = change(parseShared<SharedJob>(value))
      return changed && JSON.stringify(changed)
    })
    return changed
  }
}

/** Leaves out entries that ended after the start, or were resent within an hour before it. */
function filterOf(order: ResendOrder, started: number): EndedFilter & { notResentSince: number } {
  const { states, eventId, from, to = Infinity } = order
  const projects = order.found?.deliverable ?? order.projects
  return {
    states,
    to: Math.min(to, started),
    notResentSince: started - RESENT_MS,
    ...(projects && { projects }),
    ...(eventId !== undefined && { eventId }),
    ...(from !== undefined && { from }),
  }
}

function isRunning(job: SharedJob | undefined): job is SharedJob {
  return job !== undefined && job.stopped === undefined && job.finished === undefined
}

/** Describes a job by the clock of this machine, which that of the store is ahead of by `offsetMs`. */
function describeJob(job: SharedJob, offsetMs: number): ResendJob {
  const { order, started, entries, bytes, sent, bytesSent, waiting, stopped, finished } = job
  const { states, projectName, eventId, from, to } = order
  return {
    ...(states.length === 1 && { state: states[0] }),
    ...(projectName !== undefined && { project: projectName }),
    ...(eventId !== undefined && { event_id: eventId }),
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
    started: started - offsetMs,
    entries,
    bytes,
    sent,
    bytes_sent: bytesSent,
    per_second: rateOf(job),
    ...(waiting !== undefined && isRunning(job) && { waiting }),
    ...(stopped !== undefined && { stopped: stopped - offsetMs }),
    ...(finished !== undefined && { finished: finished - offsetMs }),
  }
}

function rateOf({ samples }: SharedJob): number {
  const [first] = samples
  const last = samples.at(-1)
  if (!first || !last || last.time === first.time) return 0
  return Math.round(((last.sent - first.sent) / (last.time - first.time)) * 1000)
}
