/** Connection to the NATS servers: requests with patience while one restarts, a diagnosis when it fails, lost streams created again. */

import { setTimeout as wait } from 'node:timers/promises'
import { type JetStreamClient, type JetStreamManager, jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect, errors, type NatsConnection } from '@nats-io/transport-node'
import { describeNats, type NatsAddress } from 'contract/nats-url'
import { once } from '../../pipeline/once.ts'
import { UnreadableBody } from '../body-errors.ts'
import { StoreAway } from '../unreachable.ts'
import { classOf } from './codec.ts'
import { problemOfNats } from './jetstream-durability.ts'
import {
  codeOf,
  messageOf,
  NO_LEADER,
  NO_PEERS,
  NO_STREAM,
  openStreams,
  type StreamSettings,
} from './streams.ts'

const FULL = 10077
const DELETE_FAILED = 10057
const NO_MESSAGE = 10043
const UNAVAILABLE = [undefined, NO_STREAM, NO_LEADER, NO_PEERS]
const GONE = /EOF|no message found/i
const NO_SEQ = Number.MAX_SAFE_INTEGER
const ANSWER_MS = 2_000
const PATIENCE_MS = 7_000 // the leader of a stream changes
const ABSENCE_MS = 5_000 // without a connection to any server; a server restarts, and an envelope without a place is lost
const SLOW_MS = 400
const PAUSE_MS = 100
const PROBE_MS = 500
const DRAIN_MS = 500
const OPTIONS = {
  name: 'culvert',
  noEcho: true, // a replica does not answer its own requests
  timeout: 3_000,
  pingInterval: 10_000,
  maxReconnectAttempts: -1,
  ignoreAuthErrorAbort: true,
  reconnectTimeWait: 250,
}

export class Server {
  readonly nc: NatsConnection
  readonly js: JetStreamClient
  readonly jsm: JetStreamManager
  readonly #settings: StreamSettings
  /** Rejects the pending requests. */
  readonly #pending = new Set<(error: Error) => void>()
  #isAbsent = false
  #failure: Error | undefined
  /** Creates the streams and buckets that are missing. */
  readonly openStreams = once(() => openStreams(this.jsm, this.#settings))
  readonly #diagnose = once((priority: number) => this.#askForFailure(priority))

  private constructor(nc: NatsConnection, jsm: JetStreamManager, settings: StreamSettings) {
    this.nc = nc
    this.jsm = jsm
    this.js = jetstream(nc, { timeout: ANSWER_MS })
    this.#settings = settings
    void this.#watchConnection()
  }

  /** Rejects with `StoreAway` when no usable server answers, and with another error when it refuses the credentials, or would lose entries. */
  static async open(address: NatsAddress, settings: StreamSettings): Promise<Server> {
    const place = describeNats(address)
    const denial = address.credentials
      ? 'refuses these credentials'
      : 'requires credentials; write nats://user:password@host:4222, or the path of a file with user:password into SPOOL_CREDENTIALS_FILE'
    const nc = await connect({
      ...OPTIONS,
      servers: address.servers,
      ...(address.tls && { tls: {} }),
      ...address.credentials,
    }).catch((error) => {
      throw error instanceof errors.AuthorizationError
        ? new Error(`SPOOL_URL: ${place} ${denial}`)
        : describeAbsence(place, error)
    })
    try {
      const { version = '' } = nc.info ?? {}
      const problem = problemOfNats(version)
      if (problem !== undefined)
        throw new StoreAway(
          `SPOOL_URL: ${place} runs nats-server ${version}, which ${problem}; install 2.12.3 or newer, or 2.10.23 or newer of 2.10 and 2.11`,
        )
      const options = { timeout: ANSWER_MS }
      const jsm = await jetstreamManager(nc, options).catch((error) => {
        throw describeAbsence(place, error)
      })
      const server = new Server(nc, jsm, settings)
      await server.openStreams()
      return server
    } catch (error) {
      await nc.close()
      throw error
    }
  }

  /** Reason why the server stores nothing, until it does again. */
  get failure(): Error | undefined {
    return this.#failure
  }

  /** Tries for 7 s, of which no more than 5 s without a connection, or until the server answers, or says why it stores nothing. */
  insist<T>(priority: number, ask: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#pending.add(reject)
      this.#try(priority, ask)
        .then(resolve, reject)
        .finally(() => this.#pending.delete(reject))
    })
  }

  async #try<T>(priority: number, ask: () => Promise<T>): Promise<T> {
    const end = performance.now() + PATIENCE_MS
    for (;;) {
      try {
        return await this.#watch(priority, ask())
      } catch (error) {
        if (isAnswer(error) || error instanceof UnreadableBody) throw error
        const isLost = codeOf(error) === NO_STREAM // of any stream, buckets included
        const failure = await (isLost ? this.openStreams() : this.#diagnose(priority)).catch(() => undefined)
        if (!failure && !this.#isAbsent && performance.now() < end) {
          await wait(PAUSE_MS)
          continue
        }
        throw this.#fail(priority, failure ?? new Error(`NATS does not answer (${messageOf(error)})`))
      }
    }
  }

  /** Closes when everything that was published is sent, or the server is away. */
  async close(): Promise<void> {
    await Promise.race([this.nc.flush().catch(() => undefined), wait(DRAIN_MS, undefined, { ref: false })])
    await this.nc.close()
  }

  /** Rejects what is pending when no server has been reached for 5 s. Ends with the connection. */
  async #watchConnection(): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    for await (const { type } of this.nc.status()) {
      if (type === 'disconnect') timer ??= setTimeout(() => this.#reportAbsence(), ABSENCE_MS).unref()
      if (type !== 'reconnect') continue
      clearTimeout(timer)
      timer = undefined
      this.#isAbsent = false
    }
    clearTimeout(timer)
  }

  #reportAbsence(): void {
    this.#isAbsent = true
    const failure = this.#fail(0, new Error('NATS does not answer (no connection)'))
    for (const reject of this.#pending) reject(failure)
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

  /** Notes a failure until a diagnosis finds none. */
  #fail(priority: number, failure: Error): Error {
    if (!this.#failure) void this.#probe(priority)
    this.#failure = failure
    return failure
  }

  async #probe(priority: number): Promise<void> {
    do {
      await wait(PROBE_MS, undefined, { ref: false })
      this.#failure = await this.#diagnose(priority).catch(() => this.#failure)
    } while (this.#failure && !this.nc.isClosed())
  }

  /** Has the server say what is wrong by deleting a message that does not exist. Creates lost streams again. Rejects without an answer. */
  async #askForFailure(priority: number): Promise<Error | undefined> {
    try {
      await this.jsm.streams.deleteMessage(classOf({ priority }).stream, NO_SEQ, false)
    } catch (error) {
      if (codeOf(error) === NO_STREAM) await this.openStreams()
      else if (UNAVAILABLE.includes(codeOf(error))) throw error
      else if (codeOf(error) === DELETE_FAILED && !isGone(error))
        return new Error(
          `NATS cannot write to its disk (${messageOf(error)}); make room there, then restart it`,
        )
    }
    return undefined
  }
}

export function isFull(error: unknown): boolean {
  return codeOf(error) === FULL && messageOf(error).includes('maximum bytes')
}

export function isGone(error: unknown): boolean {
  return codeOf(error) === NO_MESSAGE || (codeOf(error) === DELETE_FAILED && GONE.test(messageOf(error)))
}

/** Tells an answer from an error that may pass, or that needs a diagnosis. */
export function isAnswer(error: unknown): boolean {
  const code = codeOf(error)
  if (UNAVAILABLE.includes(code)) return false
  return (code !== FULL || isFull(error)) && (code !== DELETE_FAILED || isGone(error))
}

function describeAbsence(place: string, error: unknown): StoreAway {
  return new StoreAway(
    `SPOOL_URL: no NATS server with JetStream answers at ${place} (${messageOf(error)}); start one, or correct the address`,
  )
}
