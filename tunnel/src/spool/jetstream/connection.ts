/** Connection to the NATS servers, and the streams and buckets that hold the spool there. */

import { setTimeout as wait } from 'node:timers/promises'
import {
  DiscardPolicy,
  JetStreamApiError,
  type JetStreamClient,
  type JetStreamManager,
  jetstream,
  jetstreamManager,
  PersistMode,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
  type StreamInfo,
} from '@nats-io/jetstream'
import { type KV, Kvm } from '@nats-io/kv'
import { type ObjectStore, Objm } from '@nats-io/obj'
import { connect, errors, type NatsConnection, nanos } from '@nats-io/transport-node'
import { CLASSES, NAME, type PriorityClass, subjectsOf } from './codec.ts'
import { describeNats, describeNoRoom, type NatsAddress, NatsAway } from './nats-url.ts'

export type StreamSettings = {
  /** Bytes of all classes together; `undefined` keeps the bounds of streams that exist, and is 5 GiB for new ones. */
  bytes: number | undefined
  /** Milliseconds after which tunnels end an entry as expired. */
  ageMs: number
}

/** Streams and buckets of one class. */
export type OpenClass = { info: StreamInfo; objects: ObjectStore; maxBytes: number }

export type OpenStreams = { classes: OpenClass[]; state: KV }

type NewStream = Partial<StreamConfig> & { name: string }

/** Condition that a stream does not meet, and the flag of `nats stream edit` that repairs it, where one can. */
type Problem = [isMet: boolean, problem: string, flag?: string]

export const NO_STREAM = 10059
const NAME_TAKEN = 10058
const NO_STORAGE = 10047
export const NO_LEADER = 10008
export const NO_PEERS = 10005
const ANSWER_MS = 2_000
const START_MS = 3_000
const CONNECT_MS = 3_000
const RETRY_MS = 250
const DRAIN_MS = 500
const DEFAULT_BYTES = 5 * 1024 ** 3 // 5 GiB
const STATE_BYTES = 1024 * 1024 // 1 MiB
const DEDUPE_MS = 10 * 60 * 1000 // 10 min
/** Milliseconds after which a stream deletes an entry that the tunnels should have expired. */
export const BACKSTOP_MS = 60 * 60 * 1000 // 1 h

export class Connection {
  readonly nc: NatsConnection
  readonly js: JetStreamClient
  readonly jsm: JetStreamManager
  readonly #address: NatsAddress
  readonly #settings: StreamSettings

  private constructor(
    nc: NatsConnection,
    jsm: JetStreamManager,
    address: NatsAddress,
    settings: StreamSettings,
  ) {
    this.nc = nc
    this.jsm = jsm
    this.js = jetstream(nc, { timeout: ANSWER_MS })
    this.#address = address
    this.#settings = settings
  }

  /** Rejects with `NatsAway` when no server answers for 3 s or it is too old, and with another error when it refuses the credentials. */
  static async open(address: NatsAddress, settings: StreamSettings): Promise<Connection> {
    const end = Date.now() + START_MS
    for (;;) {
      try {
        const nc = await connect(optionsOf(address))
        return new Connection(nc, await managerOf(nc, address), address, settings)
      } catch (error) {
        if (error instanceof errors.AuthorizationError)
          throw new Error(`SPOOL_URL: ${describeNats(address)} ${describeDenial(address)}`)
        if (error instanceof TooOld) throw error
        if (Date.now() > end)
          throw new NatsAway(
            `SPOOL_URL: no NATS server with JetStream answers at ${describeNats(address)} (${messageOf(error)}); start one, or correct the address`,
          )
        await wait(RETRY_MS)
      }
    }
  }

  /** Creates the streams and buckets that are missing. Several replicas may do so at once. */
  async openStreams(): Promise<OpenStreams> {
    const [state, ...classes] = await Promise.all([
      this.#openState(),
      ...CLASSES.map((_, priority) => this.#openClass(priority)),
    ])
    return { classes, state }
  }

  close(): Promise<void> {
    return this.nc.close()
  }

  /** Closes when everything that was published is sent, or the server is away. */
  async drain(): Promise<void> {
    await Promise.race([this.nc.flush().catch(() => undefined), wait(DRAIN_MS, undefined, { ref: false })])
    await this.nc.close()
  }

  async #openClass(priority: number): Promise<OpenClass> {
    const { stream, bucket, share, objectShare } = CLASSES[priority] as PriorityClass
    const config = this.#configOf(priority, stream, share)
    const { max_age } = config
    const max_bytes = this.#bytesOf(objectShare)
    const objm = new Objm(this.js)
    const [info] = await Promise.all([
      this.#openStream(config, share, () => this.jsm.streams.add(config)),
      this.#openStream({ name: `OBJ_${bucket}`, max_age, max_bytes }, objectShare, () =>
        objm.create(bucket, { ...this.#bucketOptions(max_bytes), ttl: max_age }),
      ),
    ])
    return { info, objects: await objm.open(bucket, false), maxBytes: info.config.max_bytes }
  }

  async #openState(): Promise<KV> {
    const kvm = new Kvm(this.js)
    await this.#openStream({ name: `KV_${NAME}`, max_bytes: STATE_BYTES }, undefined, () =>
      kvm.create(NAME, this.#bucketOptions(STATE_BYTES)),
    )
    return kvm.open(NAME, { allow_direct: false }) // a follower may not know a pause yet
  }

  #bucketOptions(max_bytes: number) {
    return { replicas: this.#address.replicas, storage: StorageType.File, max_bytes }
  }

  /** Returns the stream that exists, or a new one. Rejects when it would lose entries. */
  async #openStream(
    wanted: NewStream,
    share: number | undefined,
    create: () => Promise<unknown>,
  ): Promise<StreamInfo> {
    const found = (await this.#find(wanted.name)) ?? (await this.#create(wanted, create))
    refuse(found.config, this.#address.replicas, wanted)
    if (share === undefined) return found
    // An age is only raised: a replica of the last deployment may still run with a longer one.
    const max_age = Math.max(found.config.max_age, wanted.max_age ?? 0)
    const max_bytes = this.#settings.bytes === undefined ? found.config.max_bytes : this.#bytesOf(share)
    const isSame = max_age === found.config.max_age && max_bytes === found.config.max_bytes
    if (isSame) return found
    return this.jsm.streams.update(wanted.name, { max_age, max_bytes }).catch((error) => {
      throw codeOf(error) === NO_STORAGE ? describeNoRoom(wanted.name, max_bytes) : error
    })
  }

  async #find(name: string): Promise<StreamInfo | undefined> {
    try {
      return await this.jsm.streams.info(name)
    } catch (error) {
      if (codeOf(error) === NO_STREAM) return undefined
      throw isPassing(error)
        ? new NatsAway(`SPOOL_URL: the NATS servers are not ready: ${messageOf(error)}`)
        : error
    }
  }

  async #create({ name, max_bytes }: NewStream, create: () => Promise<unknown>) {
    try {
      await create()
    } catch (error) {
      if (codeOf(error) === NO_STORAGE) throw describeNoRoom(name, max_bytes)
      if (isPassing(error))
        throw new NatsAway(`SPOOL_URL: the NATS servers are not ready: ${messageOf(error)}`)
      if (codeOf(error) !== NAME_TAKEN)
        throw new Error(`SPOOL_URL: the server does not create the stream ${name}: ${messageOf(error)}`)
    }
    return this.jsm.streams.info(name) // another replica may have been first
  }

  #configOf(priority: number, name: string, share: number) {
    return {
      name,
      description: 'Spool entries of Culvert',
      subjects: [subjectsOf(priority)],
      storage: StorageType.File,
      retention: RetentionPolicy.Limits, // a deletion tells which replica ended an entry; an acknowledgement does not
      discard: DiscardPolicy.New,
      max_bytes: this.#bytesOf(share),
      max_age: nanos(this.#settings.ageMs + BACKSTOP_MS),
      duplicate_window: nanos(DEDUPE_MS),
      num_replicas: this.#address.replicas,
      first_seq: Date.now(), // a stream that is created again numbers no message like one that it lost
    }
  }

  #bytesOf(share: number): number {
    return Math.floor((this.#settings.bytes ?? DEFAULT_BYTES) * share)
  }
}

/** Code of the server's own error; `undefined` for other errors. */
export function codeOf(error: unknown): number | undefined {
  return error instanceof JetStreamApiError ? error.code : undefined
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Error of a server without `sync_interval`, which could lose what it acknowledged. */
class TooOld extends NatsAway {}

function isPassing(error: unknown): boolean {
  const code = codeOf(error)
  return code === undefined || code === NO_LEADER || code === NO_PEERS
}

function refuse(config: StreamConfig, replicas: number, wanted: NewStream): void {
  const unmet = problemsOf(config, replicas, wanted).filter(([isMet]) => !isMet)
  if (unmet.length === 0) return
  const flags = unmet.map(([, , flag]) => flag)
  const repair = flags.includes(undefined)
    ? `Drain it, then run "nats stream rm ${config.name} --force": it is created again`
    : `Run "nats stream edit ${config.name} --force ${flags.join(' ')}"`
  const problems = unmet.map(([, problem]) => problem).join('; ')
  throw new Error(`SPOOL_URL: the stream ${config.name} would lose envelopes: ${problems}. ${repair}`)
}

/** A server's `sync_interval` cannot be read: `deploy/nats.conf` sets it. */
function problemsOf(config: StreamConfig, replicas: number, wanted: NewStream): Problem[] {
  const { subjects, duplicate_window: window } = wanted
  return [
    [config.storage === StorageType.File, 'storage is not file'],
    [config.retention === RetentionPolicy.Limits, 'retention is not limits'],
    [config.persist_mode !== PersistMode.Async, 'persist_mode is async'],
    [!config.no_ack && !config.sealed, 'no_ack or sealed is on'],
    [!subjects || (!config.deny_delete && !config.deny_purge), 'deny_delete or deny_purge is on'],
    [config.discard === DiscardPolicy.New, 'discard is not new', '--discard=new'],
    [config.max_bytes > 0, 'max_bytes is not set', `--max-bytes=${wanted.max_bytes}`],
    [config.max_msgs <= 0, 'max_msgs is set', '--max-msgs=-1'],
    [
      config.num_replicas >= replicas,
      `it has ${config.num_replicas} of ${replicas} replicas`,
      `--replicas=${replicas}`,
    ],
    [!window || config.duplicate_window >= window, 'duplicate_window is below 10m', '--dupe-window=10m'],
    [
      !subjects || subjects.every((subject) => config.subjects.includes(subject)),
      `subjects are not ${subjects}`,
      `--subjects=${subjects}`,
    ],
    [wanted.max_age !== undefined || config.max_age <= 0, 'max_age is set', '--max-age=0'],
  ]
}

function describeDenial({ credentials }: NatsAddress): string {
  return credentials
    ? 'refuses these credentials'
    : 'requires credentials; write nats://user:password@host:4222, or the path of a file with user:password into SPOOL_CREDENTIALS_FILE'
}

async function managerOf(nc: NatsConnection, address: NatsAddress): Promise<JetStreamManager> {
  try {
    const version = nc.info?.version ?? ''
    const [major = 0, minor = 0] = version.split('.').map(Number)
    if (major < 2 || (major === 2 && minor < 10))
      throw new TooOld(
        `SPOOL_URL: ${describeNats(address)} runs nats-server ${version}, which cannot sync each message (sync_interval: always); install 2.10 or newer`,
      )
    return await jetstreamManager(nc, { timeout: ANSWER_MS })
  } catch (error) {
    await nc.close()
    throw error
  }
}

function optionsOf({ servers, tls, credentials }: NatsAddress) {
  return {
    servers,
    name: 'culvert',
    ...(tls && { tls: {} }),
    ...credentials,
    noEcho: true, // a replica does not answer its own requests
    timeout: CONNECT_MS,
    pingInterval: 10_000,
    maxReconnectAttempts: -1,
    ignoreAuthErrorAbort: true,
    reconnectTimeWait: RETRY_MS,
    reconnectJitter: RETRY_MS,
    reconnectJitterTLS: RETRY_MS,
  }
}
