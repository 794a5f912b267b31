/** Requests to the NATS server, with patience while it restarts, a diagnosis when it fails, and lost streams created again. */

import { setTimeout as wait } from 'node:timers/promises'
import type { StreamInfo } from '@nats-io/jetstream'
import { CLASSES } from './codec.ts'
import type { OpenStreams } from './connection.ts'
import { type Connection, codeOf, messageOf, NO_LEADER, NO_PEERS, NO_STREAM } from './connection.ts'

const FULL = 10077
const DELETE_FAILED = 10057
const NO_MESSAGE = 10043
const UNAVAILABLE = [NO_STREAM, NO_LEADER, NO_PEERS]
const GONE = /EOF|no message found/i
const NO_SEQ = Number.MAX_SAFE_INTEGER
const PATIENCE_MS = 7_000 // a server restarts, or its leader changes
const SLOW_MS = 400
const PAUSE_MS = 100
const PROBE_MS = 500

export class Health {
  readonly #connection: Connection
  readonly #counted: number[] = []
  #streams: OpenStreams
  #recovering: Promise<void> | undefined
  #diagnosing: Promise<Error | undefined> | undefined
  #failure: { error: Error; priority: number; probeAt: number } | undefined
  #lost = 0

  constructor(connection: Connection, streams: OpenStreams) {
    this.#connection = connection
    this.#streams = streams
  }

  get streams(): OpenStreams {
    return this.#streams
  }

  /** Reason why the server stores nothing, until it does again. */
  get failure(): Error | undefined {
    return this.#failure?.error
  }

  /** Entries of lost streams, as far as this replica was first to create them again. */
  get lost(): number {
    return this.#lost
  }

  /** Notes how many entries a class has, for the case that its stream is lost. */
  count(priority: number, entries: number): void {
    this.#counted[priority] = entries
  }

  /** Returns `true` for one replica, which counts what was lost before a stream was created again. */
  claimLoss(priority: number, { created }: StreamInfo): Promise<boolean> {
    return this.#streams.state.create(`lost.${priority}.${Date.parse(created)}`, '').then(
      () => true,
      () => false,
    )
  }

  /** Throws what is known to fail. Twice a second one call goes on, as a probe. */
  assertNoFailure(): void {
    if (this.#failure && !this.#isProbe(this.#failure)) throw this.#failure.error
  }

  /** Returns `false` while what is delivered cannot be settled. */
  async isWritable(): Promise<boolean> {
    const failure = this.#failure
    if (!failure) return true
    if (!this.#isProbe(failure)) return false
    const error = await this.#diagnose(failure.priority).catch((error: Error) => error)
    if (!error) this.#failure = undefined
    return !error
  }

  /** As `insist`, for what the server has to store. */
  async insistOnWrite<T>(priority: number, ask: () => Promise<T>): Promise<T> {
    const answer = await this.insist(priority, ask)
    this.#failure = undefined
    return answer
  }

  /** Tries for 7 s, or until the server answers, or says why it stores nothing. */
  async insist<T>(priority: number, ask: () => Promise<T>): Promise<T> {
    const end = performance.now() + PATIENCE_MS
    for (;;) {
      try {
        return await this.#watch(priority, ask())
      } catch (error) {
        if (isAnswer(error)) throw error
        const isLost = codeOf(error) === NO_STREAM // of any stream, buckets included
        const failure = await (isLost ? this.#recover() : this.#diagnose(priority)).catch(() => undefined)
        if (!failure && performance.now() < end) {
          await wait(PAUSE_MS)
          continue
        }
        const reason = failure ?? new Error(`NATS does not answer (${messageOf(error)})`)
        this.#failure = { error: reason, priority, probeAt: performance.now() + PROBE_MS }
        throw reason
      }
    }
  }

  /** Rejects early when the server is slow because it stores nothing: it does not say so itself. */
  async #watch<T>(priority: number, answer: Promise<T>): Promise<T> {
    const slow = wait(SLOW_MS, 'slow' as const, { ref: false })
    const isSlow = (await Promise.race([answer.then(() => 'answered' as const), slow])) === 'slow'
    const failure = isSlow && (await this.#diagnose(priority).catch(() => undefined))
    if (!failure) return answer
    answer.catch(() => undefined) // it is not awaited
    throw failure
  }

  #diagnose(priority: number): Promise<Error | undefined> {
    this.#diagnosing ??= this.#askForFailure(priority).finally(() => {
      this.#diagnosing = undefined
    })
    return this.#diagnosing
  }

  /** Has the server say what is wrong by deleting a message that does not exist. Creates lost streams again. Rejects without an answer. */
  async #askForFailure(priority: number): Promise<Error | undefined> {
    try {
      await this.#connection.jsm.streams.deleteMessage(CLASSES[priority]?.stream ?? '', NO_SEQ, false)
    } catch (error) {
      if (codeOf(error) === NO_STREAM) await this.#recover()
      else if (codeOf(error) === undefined) throw error
      else if (codeOf(error) === DELETE_FAILED && !isGone(error))
        return new Error(
          `NATS cannot write to its disk (${messageOf(error)}); make room there, then restart it`,
        )
    }
    return undefined
  }

  async #recover(): Promise<undefined> {
    this.#recovering ??= this.#createAgain().finally(() => {
      this.#recovering = undefined
    })
    await this.#recovering
  }

  async #createAgain(): Promise<void> {
    const before = this.#streams.classes
    this.#streams = await this.#connection.openStreams()
    for (const [priority, { info }] of this.#streams.classes.entries()) {
      const created = Date.parse(info.created)
      if (created === Date.parse(before[priority]?.info.created ?? '')) continue
      if (await this.claimLoss(priority, info)) this.#lost += this.#counted[priority] ?? 0
      this.#counted[priority] = 0
    }
  }

  #isProbe(failure: { probeAt: number }): boolean {
    if (performance.now() < failure.probeAt) return false
    failure.probeAt = performance.now() + PROBE_MS
    return true
  }
}

export function isFull(error: unknown): boolean {
  return codeOf(error) === FULL && messageOf(error).includes('maximum bytes')
}

export function isGone(error: unknown): boolean {
  return codeOf(error) === NO_MESSAGE || (codeOf(error) === DELETE_FAILED && GONE.test(messageOf(error)))
}

/** Tells an answer from an error that may pass, or that needs a diagnosis. */
function isAnswer(error: unknown): boolean {
  const code = codeOf(error)
  if (code === undefined || UNAVAILABLE.includes(code)) return false
  return (code !== FULL || isFull(error)) && (code !== DELETE_FAILED || isGone(error))
}
