/** Alerts and the heartbeat: one of the replicas of a spool sends them. */

import type { AlertTarget, AlertTestResult } from 'contract/alerts'
import type { Situation } from 'contract/situation/situation'
import type { Logger } from 'pino'
import { once } from '../../pipeline/once.ts'
import { changeShared, type SharedState } from '../../pipeline/shared-state.ts'
import { within } from '../../pipeline/within.ts'
import { type Alert, createTest, describeAlert, SendError } from './alert.ts'
import {
  ALERTS_KEY,
  type AlertRecord,
  type Change,
  changeOf,
  dueTargets,
  isLeader,
  lead,
  NO_ALERTS,
  parseAlerts,
  recordAttempts,
  recordChange,
  settleMs,
} from './alert-record.ts'
import type { Senders } from './senders.ts'

export type AlertsDeps = {
  targets: readonly AlertTarget[]
  heartbeat: URL | undefined
  senders: Pick<Senders, 'send' | 'beat' | 'close'>
  state: Pick<SharedState, 'get' | 'put' | 'clockOffsetMs'>
  replica: string
  situation: { current(): Promise<Situation | undefined> }
  logger: Pick<Logger, 'info' | 'warn'>
  /** Milliseconds since 1970. */
  now: () => number
}

const EVERY_MS = 5_000
const STORE_MS = 1_000
/** A replica without the shared state sends for itself after the lease of another one has ended. */
const ALONE_MS = 30_000
/** Time for one attempt, shorter than the console waits for a test. */
const ATTEMPT_MS = 9_000
/** Longer than the steps of a mail server that scans messages: a mail that was accepted late must not be sent again. */
const MAIL_MS = 30_000
/** A problem that was absent for a shorter time continues: an upstream that flaps responds between two probes. */
const ABSENT_MS = 30_000
const BEAT_MS = 57_500 // a minute, in rounds of 5 s

/** While the shared state is unavailable, each replica sends for itself, so that this problem is reported, too. */
export class Alerts {
  readonly #deps: AlertsDeps
  #timer: NodeJS.Timeout | undefined
  /** One round. Never rejects. Rounds do not overlap. */
  readonly look = once(() =>
    this.#round().catch((err) => this.#deps.logger.warn({ err }, 'alerts cannot be sent')),
  )
  /** Record as of the last round. */
  #record = NO_ALERTS
  /** Difference to the record that this replica has found in each round since. */
  #change: { kind: Change; since: number; seen: number } | undefined
  #awaySince: number | undefined
  #beatAt = Number.NEGATIVE_INFINITY
  #isBeating = true

  constructor(deps: AlertsDeps) {
    this.#deps = deps
  }

  start(): void {
    this.#timer = setInterval(() => void this.look(), EVERY_MS).unref()
    void this.look()
  }

  /** Leaves the lease to another replica. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.look.running
    await this.#updateAsLeader((record) => ({ ...record, until: 0 }))
    await this.#deps.senders.close()
  }

  /** Sends a test to each destination. */
  test(): Promise<AlertTestResult[]> {
    const alert = createTest(this.#deps.now())
    return Promise.all(this.#deps.targets.map((target) => this.#attempt(target, alert, ATTEMPT_MS)))
  }

  warnings(): string[] {
    const pending = Object.entries(this.#record.message?.pending ?? {})
    return pending.flatMap(([target, { error }]) =>
      error === undefined ? [] : [`An alert does not reach ${target}. ${error}`],
    )
  }

  async #round(): Promise<void> {
    if (!(await this.#lead())) return
    const situation = await this.#deps.situation.current()
    if (!situation) return
    await this.#note(situation)
    await Promise.all([this.#send(), this.#beat(situation)])
  }

  async #lead(): Promise<boolean> {
    const { replica } = this.#deps
    await this.#update((record, now) => lead(record, replica, now))
    if (this.#awaySince !== undefined) return this.#deps.now() - this.#awaySince > ALONE_MS
    return isLeader(this.#record, replica, this.#storeTime())
  }

  /** Records a message before it is sent, so that another replica sends it if this one dies. */
  async #note(situation: Situation): Promise<void> {
    if (!this.#hasSettled(situation)) return
    const targets = this.#deps.targets.map(({ name }) => name)
    const alert = describeAlert(situation, this.#deps.now())
    await this.#updateAsLeader((record, time) =>
      changeOf(record, situation) === undefined
        ? undefined
        : recordChange(record, situation, { now: time, targets, alert }),
    )
  }

  #hasSettled(situation: Situation): boolean {
    const now = this.#deps.now()
    const kind = changeOf(this.#record, situation)
    if (kind === undefined) {
      if (this.#change?.kind === 'better' || now - (this.#change?.seen ?? now) > ABSENT_MS)
        this.#change = undefined
      return false
    }
    const since = this.#change?.kind === kind ? this.#change.since : now
    this.#change = { kind, since, seen: now }
    return now - since >= settleMs(kind)
  }

  async #send(): Promise<void> {
    const { targets, logger } = this.#deps
    const { message } = this.#record
    const due = dueTargets(this.#record, this.#storeTime())
    if (!message || due.length === 0) return
    const addressed = targets.filter(({ name }) => due.includes(name))
    const unknown = due.filter((name) => !targets.some((target) => target.name === name))
    const results = await Promise.all(
      addressed.map((target) =>
        this.#attempt(target, message.alert, target.kind === 'email' ? MAIL_MS : ATTEMPT_MS),
      ),
    )
    for (const { target, error } of results) {
      if (error === undefined) logger.info({ target, state: message.alert.state }, 'alert sent')
      else if (message.pending[target]?.error === undefined)
        logger.warn({ target, error }, 'an alert was not sent; it is tried again')
    }
    const gone = unknown.map((target) => ({ target })) // of other settings
    await this.#updateAsLeader((record, time) => recordAttempts(record, message, [...results, ...gone], time))
  }

  async #attempt(target: AlertTarget, alert: Alert, limitMs: number): Promise<AlertTestResult> {
    const { name } = target
    try {
      await within(limitMs, this.#deps.senders.send(target, alert))
      return { target: name }
    } catch (error) {
      return { target: name, error: error instanceof SendError ? error.message : lateAfter(limitMs) }
    }
  }

  /** Sends the heartbeat: Culvert runs, and reports arrive. */
  async #beat({ state }: Situation): Promise<void> {
    const { heartbeat, senders, now, logger } = this.#deps
    if (!heartbeat || state === 'outage' || now() - this.#beatAt < BEAT_MS) return
    this.#beatAt = now()
    const wasBeating = this.#isBeating
    const error = await senders.beat(heartbeat).then(
      () => undefined,
      (reason: unknown) => String(reason instanceof SendError ? reason.message : reason),
    )
    this.#isBeating = error === undefined
    if (error !== undefined && wasBeating) logger.warn({ error }, 'the heartbeat was not sent')
    if (error === undefined && !wasBeating) logger.info('the heartbeat is sent again')
  }

  #updateAsLeader(change: (record: AlertRecord, now: number) => AlertRecord | undefined): Promise<void> {
    const { replica } = this.#deps
    return this.#update((record, now) =>
      this.#awaySince !== undefined || isLeader(record, replica, now) ? change(record, now) : undefined,
    )
  }

  /** Changes the record of all replicas; that of this one alone while the shared state is away. */
  async #update(change: (record: AlertRecord, now: number) => AlertRecord | undefined): Promise<void> {
    const { state, now } = this.#deps
    const time = this.#storeTime()
    const known = this.#record
    try {
      await within(
        STORE_MS,
        changeShared(state, ALERTS_KEY, (value) => {
          const stored = parseAlerts(value)
          const before = known.changed > stored.changed ? { ...known, ...leaseOf(stored) } : stored
          const next = change(before, time)
          this.#record = next ?? before
          return next && JSON.stringify(next)
        }),
      )
      this.#awaySince = undefined
    } catch {
      this.#awaySince ??= now()
      this.#record = change(known, time) ?? known
    }
  }

  #storeTime(): number {
    const { now, state } = this.#deps
    return now() + state.clockOffsetMs()
  }
}

function lateAfter(limitMs: number): string {
  return `The server did not respond within ${limitMs / 1000} s.`
}

function leaseOf({ leader, until }: AlertRecord): Pick<AlertRecord, 'leader' | 'until'> {
  return { leader, until }
}
