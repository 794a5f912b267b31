/** Streams and buckets that hold the spool on NATS: created when missing, rejected when they would lose entries. */

import {
  DiscardPolicy,
  JetStreamApiError,
  type JetStreamClient,
  type JetStreamManager,
  PersistMode,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from '@nats-io/jetstream'
import { Kvm } from '@nats-io/kv'
import { Objm } from '@nats-io/obj'
import { nanos } from '@nats-io/transport-node'
import { StoreAway } from '../unreachable.ts'
import { CLASSES, NAME, type PriorityClass, subjectsOf } from './codec.ts'

export type StreamSettings = {
  /** Bytes of all classes together; `undefined` keeps the bounds of streams that exist, and is 5 GiB for new ones. */
  bytes: number | undefined
  /** Milliseconds after which tunnels end an entry as expired. */
  ageMs: number
  /** Copies of each stream. */
  replicas: number
}

type Wanted = Pick<StreamConfig, 'name' | 'max_bytes'> & Partial<StreamConfig>

export const NO_STREAM = 10059
export const NO_LEADER = 10008
export const NO_PEERS = 10005
export const NAME_TAKEN = 10058
/** Error of a message whose subject has another one than expected. */
export const WRONG_SEQUENCE = 10071
export const NO_STORAGE = 10047
const DEFAULT_BYTES = 5 * 1024 ** 3 // 5 GiB
const STATE_BYTES = 1024 * 1024 // 1 MiB
const DEDUPE_MS = 10 * 60 * 1000 // 10 min
/** Milliseconds after which a stream deletes an entry that the tunnels should have expired. */
export const BACKSTOP_MS = 60 * 60 * 1000 // 1 h

/** Creates the streams and buckets that are missing. Several replicas may do so at once. */
export async function openStreams(js: JetStreamClient, settings: StreamSettings): Promise<void> {
  const jsm = await js.jetstreamManager(false)
  const [kvm, objm] = [new Kvm(js), new Objm(js)]
  const bucket = (max_bytes: number) => ({
    ...{ max_bytes, storage: StorageType.File, replicas: settings.replicas },
  })
  const state = { name: `KV_${NAME}`, max_bytes: STATE_BYTES, num_replicas: settings.replicas }
  await Promise.all([
    openStream(jsm, settings, state, () => kvm.create(NAME, bucket(STATE_BYTES))),
    ...CLASSES.flatMap((its, priority) => {
      const config = configOf(its, priority, settings)
      const max_bytes = bytesOf(settings, its.objectShare)
      const { max_age, num_replicas } = config
      const objects = { name: `OBJ_${its.stream}`, max_age, max_bytes, num_replicas }
      return [
        openStream(jsm, settings, config, () => jsm.streams.add(config)),
        openStream(jsm, settings, objects, () =>
          objm.create(its.stream, { ...bucket(max_bytes), ttl: max_age }),
        ),
      ]
    }),
  ])
}

/** Code of the server's own error; `undefined` for other errors. */
export function codeOf(error: unknown): number | undefined {
  return error instanceof JetStreamApiError ? error.code : undefined
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Rejects when the stream would lose entries. */
async function openStream(
  jsm: JetStreamManager,
  settings: StreamSettings,
  wanted: Wanted,
  create: () => Promise<unknown>,
): Promise<void> {
  const find = () => jsm.streams.info(wanted.name)
  const { config } = await find().catch(async (error) => {
    if (codeOf(error) !== NO_STREAM) throw describeError(error, wanted)
    await create().catch((error) => {
      if (codeOf(error) !== NAME_TAKEN) throw describeError(error, wanted) // else another replica was first
    })
    return find().catch((error) => {
      throw describeError(error, wanted)
    })
  })
  rejectLossyStream(config, wanted)
  // An age is only raised: a replica of the last deployment may still run with a longer one.
  const max_age = Math.max(config.max_age, wanted.max_age ?? 0)
  const isKept = settings.bytes === undefined && config.max_bytes > 0
  const max_bytes = isKept ? config.max_bytes : wanted.max_bytes
  if (max_age !== config.max_age || max_bytes !== config.max_bytes)
    await jsm.streams.update(wanted.name, { max_age, max_bytes }).catch((error) => {
      throw describeError(error, { ...wanted, max_bytes })
    })
}

function configOf({ stream, share }: PriorityClass, priority: number, settings: StreamSettings) {
  return {
    name: stream,
    description: 'Spool entries of Culvert',
    subjects: [subjectsOf(priority)],
    storage: StorageType.File,
    retention: RetentionPolicy.Limits, // a deletion tells which replica ended an entry; an acknowledgement does not
    discard: DiscardPolicy.New,
    max_bytes: bytesOf(settings, share),
    max_age: nanos(settings.ageMs + BACKSTOP_MS),
    duplicate_window: nanos(DEDUPE_MS),
    num_replicas: settings.replicas,
    first_seq: Date.now(), // a stream that is created again numbers no message like one that it lost
  }
}

function bytesOf({ bytes = DEFAULT_BYTES }: StreamSettings, share: number): number {
  return Math.floor(bytes * share)
}

function describeError(error: unknown, { name, max_bytes }: Wanted): Error {
  const code = codeOf(error)
  if (code === undefined || code === NO_LEADER || code === NO_PEERS)
    return new StoreAway(`SPOOL_URL: the NATS servers are not ready: ${messageOf(error)}`)
  if (code === NO_STORAGE)
    return new StoreAway(
      `SPOOL_URL: the server has no room for the stream ${name} of ${max_bytes} bytes; lower SPOOL_BYTES, or raise its max_file_store`,
    )
  return new Error(`SPOOL_URL: the server does not create the stream ${name}: ${messageOf(error)}`)
}

/** Throws when a stream would lose entries. `durability.ts` reads the servers' `sync_interval`. */
function rejectLossyStream(config: StreamConfig, wanted: Wanted): void {
  const { subjects = [], num_replicas = 1, duplicate_window = 0 } = wanted
  const isLocked = subjects.length > 0 && (config.deny_delete || config.deny_purge)
  /** Conditions with what is wrong, and the flag of `nats stream edit` that repairs it, where one can. */
  const checks: [isMet: boolean, problem: string, flag?: string][] = [
    [config.storage === StorageType.File, 'storage is not file'],
    [config.retention === RetentionPolicy.Limits, 'retention is not limits'],
    [config.persist_mode !== PersistMode.Async, 'persist_mode is async'],
    [!config.sealed && !config.no_ack && !isLocked, 'sealed, no_ack, deny_delete or deny_purge is on'],
    [config.discard === DiscardPolicy.New, 'discard is not new', '--discard=new'],
    [config.max_msgs <= 0, 'max_msgs is set', '--max-msgs=-1'],
    [wanted.max_age !== undefined || config.max_age <= 0, 'max_age is set', '--max-age=0'],
    [
      config.num_replicas >= num_replicas,
      `num_replicas is below ${num_replicas}`,
      `--replicas=${num_replicas}`,
    ],
    [config.duplicate_window >= duplicate_window, 'duplicate_window is below 10m', '--dupe-window=10m'],
    [
      subjects.every((subject) => config.subjects.includes(subject)),
      `subjects are not ${subjects}`,
      `--subjects=${subjects}`,
    ],
  ]
  const unmet = checks.filter(([isMet]) => !isMet)
  if (unmet.length === 0) return
  const flags = unmet.map(([, , flag]) => flag)
  const repair = flags.includes(undefined)
    ? `Drain it, then run "nats stream rm ${config.name} --force": it is created again`
    : `Run "nats stream edit ${config.name} --force ${flags.join(' ')}"`
  const problems = unmet.map(([, problem]) => problem).join('; ')
  throw new Error(`SPOOL_URL: the stream ${config.name} would lose envelopes: ${problems}. ${repair}`)
}
