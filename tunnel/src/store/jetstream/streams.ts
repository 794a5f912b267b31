/** Streams and buckets on NATS: created when missing, and those of the spool rejected when they would lose entries. */

import {
  DiscardPolicy,
  JetStreamApiError,
  type JetStreamManager,
  PersistMode,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from '@nats-io/jetstream'
import { nanos } from '@nats-io/transport-node'
import { StoreAway } from '../unreachable.ts'
import { CLASSES, NAME, subjectsOf } from './codec.ts'

export type StreamSettings = {
  /** Bytes of all classes together; `undefined` keeps the bounds of streams that exist, and is 5 GiB for new ones. */
  bytes: number | undefined
  /** Milliseconds after which tunnels end an entry as expired. */
  ageMs: number
  /** Copies of each stream. */
  replicas: number
}

type Bounds = Pick<StreamConfig, 'max_bytes' | 'num_replicas'> & Partial<StreamConfig>
type Wanted = Bounds & Pick<StreamConfig, 'name' | 'subjects'>

export const NO_STREAM = 10059
export const NO_LEADER = 10008
export const NO_PEERS = 10005
/** Error of a message whose subject has another one than expected. */
export const WRONG_SEQUENCE = 10071
export const KEPT_STREAM = 'CULVERT_KEPT'
const NAME_TAKEN = 10058
const NO_STORAGE = 10047
const DEFAULT_BYTES = 5 * 1024 ** 3 // 5 GiB
const STATE_BYTES = 1024 * 1024 // 1 MiB
const DEDUPE_MS = 10 * 60 * 1000 // 10 min
/** Milliseconds after which a stream deletes an entry that the tunnels should have expired. */
export const BACKSTOP_MS = 60 * 60 * 1000 // 1 h
const ON_DISK = {
  storage: StorageType.File,
  retention: RetentionPolicy.Limits, // a deletion tells which replica ended an entry; an acknowledgement does not
  discard: DiscardPolicy.New,
}

/** Code of the server's own error; `undefined` for other errors. */
export function codeOf(error: unknown): number | undefined {
  return error instanceof JetStreamApiError ? error.code : undefined
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Describes a key-value bucket with one value of each key. */
export function bucketOf(name: string, bounds: Bounds): Wanted {
  const options = { max_msgs_per_subject: 1, allow_rollup_hdrs: true }
  return { ...ON_DISK, ...options, name: `KV_${name}`, subjects: [`$KV.${name}.>`], ...bounds }
}

/**
 * Creates a stream that is missing, or changes one that exists: `changesOf` returns options that it must have. Several replicas may do so at
 * once.
 */
export async function ensureStream(
  jsm: JetStreamManager,
  wanted: Wanted,
  changesOf: (config: StreamConfig) => Partial<StreamConfig> = () => ({}),
): Promise<void> {
  const { name, max_bytes } = wanted
  try {
    const find = () => jsm.streams.info(name)
    const { config } = await find().catch((error) => {
      if (codeOf(error) !== NO_STREAM) throw error
      return jsm.streams.add({ ...ON_DISK, ...wanted }).catch((error) => {
        if (codeOf(error) !== NAME_TAKEN) throw error
        return find() // another replica was first
      })
    })
    const changes = Object.entries(changesOf(config)).filter(
      ([key, value]) => config[key as keyof StreamConfig] !== value,
    )
    if (changes.length > 0) await jsm.streams.update(name, Object.fromEntries(changes))
  } catch (error) {
    if (codeOf(error) !== NO_STORAGE) throw error
    const description = `the server has no room for the stream ${name} of ${max_bytes} bytes; lower SPOOL_BYTES, or raise its max_file_store`
    throw new JetStreamApiError({ code: 500, err_code: NO_STORAGE, description })
  }
}

/** Creates the streams and buckets of the spool that are missing. Rejects when one would lose entries. */
export async function openStreams(jsm: JetStreamManager, settings: StreamSettings): Promise<void> {
  await Promise.all(
    streamsOf(settings).map((wanted) =>
      ensureStream(jsm, wanted, (config) => {
        rejectLossyStream(config, wanted)
        const isKept = settings.bytes === undefined && config.max_bytes > 0
        return {
          max_age: Math.max(config.max_age, wanted.max_age ?? 0), // a replica of the last deployment may still run with a longer one
          max_bytes: isKept ? config.max_bytes : wanted.max_bytes,
        }
      }).catch((error) => {
        throw describeError(error, wanted.name)
      }),
    ),
  )
}

function streamsOf({ bytes = DEFAULT_BYTES, ageMs, replicas: num_replicas }: StreamSettings): Wanted[] {
  const max_age = nanos(ageMs + BACKSTOP_MS)
  const classes = CLASSES.flatMap(({ stream, share, objectShare }, priority): Wanted[] => [
    {
      name: stream,
      description: 'Spool entries of Culvert',
      subjects: [subjectsOf(priority)],
      duplicate_window: nanos(DEDUPE_MS),
      first_seq: Date.now(), // a stream that is created again numbers no message like one that it lost
      ...{ max_age, num_replicas, max_bytes: Math.floor(bytes * share) },
    },
    {
      name: `OBJ_${stream}`,
      subjects: [`$O.${stream}.C.>`, `$O.${stream}.M.>`],
      ...{ allow_rollup_hdrs: true, allow_direct: true },
      ...{ max_age, num_replicas, max_bytes: Math.floor(bytes * objectShare) },
    },
  ])
  return [bucketOf(NAME, { max_bytes: STATE_BYTES, num_replicas }), ...classes]
}

class LossyStream extends Error {}

function describeError(error: unknown, name: string): unknown {
  const code = codeOf(error)
  if (error instanceof LossyStream) return error
  if (code === NO_STORAGE) return new StoreAway(`SPOOL_URL: ${messageOf(error)}`)
  if (code === undefined || code === NO_LEADER || code === NO_PEERS)
    return new StoreAway(`SPOOL_URL: the NATS servers are not ready: ${messageOf(error)}`)
  return new Error(`SPOOL_URL: the server does not create the stream ${name}: ${messageOf(error)}`)
}

/** Throws when a stream would lose entries. `jetstream-durability.ts` reads the servers' `sync_interval`. */
function rejectLossyStream(config: StreamConfig, wanted: Wanted): void {
  const { subjects, num_replicas, duplicate_window = 0 } = wanted
  const isLocked = duplicate_window > 0 && (config.deny_delete || config.deny_purge)
  /** Conditions with the problem, and the flag of `nats stream edit` that repairs it, if there is one. */
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
  throw new LossyStream(`SPOOL_URL: the stream ${config.name} would lose envelopes: ${problems}. ${repair}`)
}
