/** The stream that holds the spool: made when it is absent, refused when it promises less than we do. */

import {
  DiscardPolicy,
  JetStreamApiError,
  type JetStreamManager,
  PersistMode,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
  type StreamInfo,
} from '@nats-io/jetstream'
import { millis, nanos } from '@nats-io/transport-node'
import { ENVELOPES, PARTS, STREAM } from './codec.ts'

export type StreamSettings = {
  /** The most it may hold, in bytes; `undefined` leaves the bound of a stream that is there, and is 5 GiB for a new one. */
  bytes: number | undefined
  /** Milliseconds that an envelope may wait. */
  ageMs: number
  /** Copies in a cluster. */
  replicas: number
}

type NewStream = Parameters<JetStreamManager['streams']['add']>[0]

const DEFAULT_BYTES = 5 * 1024 ** 3 // 5 GiB
const WINDOW_MS = 10 * 60 * 1000 // 10 min, in which the same bytes are known again
const EXPIRY_MS = 60 * 60 * 1000 // 1 h: we expire envelopes and tell it; the server only what nobody came for
const NAME_TAKEN = 10058
export const NO_STREAM = 10059
const NO_STORAGE = 10047

/** Several replicas may start at once. Rejects in words when there can be no stream that keeps the promise. */
export async function openStream(jsm: JetStreamManager, settings: StreamSettings): Promise<StreamInfo> {
  const found = await findOrMake(jsm, configOf(settings))
  refuse(STREAM, 'would lose envelopes', weaknesses(found.config))
  const changes = changesTo(found.config, settings)
  return changes ? await jsm.streams.update(STREAM, changes) : found
}

/** The stream of this name that is there, or a new one. Rejects in words when the server makes none. */
export async function findOrMake(jsm: JetStreamManager, config: NewStream): Promise<StreamInfo> {
  const { name, max_bytes } = config
  try {
    return await jsm.streams.info(name)
  } catch (error) {
    if (codeOf(error) !== NO_STREAM) throw error
  }
  try {
    return await jsm.streams.add(config)
  } catch (error) {
    if (codeOf(error) === NAME_TAKEN) return jsm.streams.info(name) // another replica was first, with other bounds
    if (codeOf(error) === NO_STORAGE)
      throw new Error(
        `SPOOL_URL: the server has no room for a stream of ${max_bytes} bytes; set SPOOL_BYTES to less, or its max_file_store to more`,
      )
    if (codeOf(error) === undefined) throw error
    throw new Error(
      `SPOOL_URL: the server makes no stream ${name}: ${(error as Error).message}; allow it, or make it there`,
    )
  }
}

export function refuse(name: string, so: string, problems: readonly string[]): void {
  if (problems.length > 0)
    throw new Error(
      `SPOOL_URL: the stream ${name} ${so}: ${problems.join('; ')}. Mend it with "nats stream edit ${name}", or drain and delete it: it is made anew`,
    )
}

function configOf({ bytes, ageMs, replicas }: StreamSettings): NewStream {
  return {
    name: STREAM,
    description: 'Envelopes that wait until Sentry takes them',
    subjects: [ENVELOPES, PARTS],
    storage: StorageType.File,
    retention: RetentionPolicy.Workqueue,
    discard: DiscardPolicy.New,
    max_bytes: bytes ?? DEFAULT_BYTES,
    max_age: nanos(ageMs + EXPIRY_MS),
    duplicate_window: nanos(WINDOW_MS),
    num_replicas: replicas,
  }
}

/** What the server's own file says (`sync_interval`) cannot be asked for: `deploy/nats.conf` sets it. */
function weaknesses(config: StreamConfig): string[] {
  return [
    ...weaknessesOfAny(config, [ENVELOPES, PARTS]),
    ...unmet([
      [
        config.discard === DiscardPolicy.New,
        'when full it drops the oldest without a word (discard must be new)',
      ],
      [config.retention === RetentionPolicy.Workqueue, 'it is no work queue (retention must be workqueue)'],
      [
        config.duplicate_window >= nanos(WINDOW_MS),
        `it knows the same bytes for ${millis(config.duplicate_window) / 1000} s only (duplicate_window must be 10m or more)`,
      ],
      [config.max_bytes > 0, 'nothing bounds it (max_bytes must be set)'],
    ]),
  ]
}

/** Of either stream: it must keep on disk what it is told under these subjects, and let it be deleted. */
export function weaknessesOfAny(config: StreamConfig, subjects: readonly string[]): string[] {
  return unmet([
    [config.storage === StorageType.File, 'it is in memory (storage must be file)'],
    [
      config.persist_mode !== PersistMode.Async,
      'it acknowledges what is not written yet (persist_mode must be default)',
    ],
    [
      config.max_msgs <= 0 && config.max_msgs_per_subject <= 0,
      'it bounds the number of messages (max_msgs and max_msgs_per_subject must be -1)',
    ],
    [
      subjects.every((subject) => config.subjects.includes(subject)),
      `it does not hear all (subjects must be ${subjects.join(' and ')})`,
    ],
    [
      !config.no_ack && !config.sealed && !config.deny_delete && !config.deny_purge,
      'it answers, takes or deletes nothing (no_ack, sealed, deny_delete and deny_purge must be off)',
    ],
  ])
}

export function unmet(promises: readonly [boolean, string][]): string[] {
  return promises.filter(([holds]) => !holds).map(([, problem]) => problem)
}

/** The bounds follow our settings; an age is only ever raised, lest a replica of the last deployment lower it again. */
function changesTo(
  config: StreamConfig,
  { bytes, ageMs }: StreamSettings,
): Pick<StreamConfig, 'max_bytes' | 'max_age'> | undefined {
  const age = nanos(ageMs + EXPIRY_MS)
  const tooYoung = config.max_age !== 0 && config.max_age < age
  const wanted = bytes ?? config.max_bytes
  if (!tooYoung && wanted === config.max_bytes) return undefined
  return { max_bytes: wanted, max_age: tooYoung ? age : config.max_age }
}

/** The server's own code of an error; `undefined` for others. */
export function codeOf(error: unknown): number | undefined {
  return error instanceof JetStreamApiError ? error.code : undefined
}
