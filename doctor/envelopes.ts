/** Builds the envelopes that the doctor posts: marked as tests, and free of quota where possible. */

import { randomBytes } from 'node:crypto'
import { deflateSync } from 'node:zlib'

/** Environment of the doctor's events in Sentry, which form one issue. */
const ENVIRONMENT = 'culvert-doctor'

type Item = { header: Record<string, unknown>; payload: string | Buffer }

/** One run of the doctor; its id is a tag of the events that it sends. */
export type Run = { id: string; now: number }

/** Builds an event that names itself as a test. */
export function errorEnvelope(dsn: string, run: Run): Buffer {
  const payload = JSON.stringify({
    ...commonFields(run),
    level: 'info',
    logger: ENVIRONMENT,
    message: 'This is a test by npm run doctor, no error.',
    fingerprint: [ENVIRONMENT],
  })
  return serialize({ event_id: run.id, dsn }, [
    { header: { type: 'event', length: payload.length }, payload },
  ])
}

/** Builds a replay of one empty segment, compressed as browsers send it, so that it is not valid text in any encoding. */
export function replayEnvelope(dsn: string, run: Run): Buffer {
  const event = JSON.stringify({
    ...commonFields(run),
    type: 'replay_event',
    replay_id: run.id,
    replay_type: 'session',
    segment_id: 0,
    replay_start_timestamp: run.now / 1000,
    urls: [],
    error_ids: [],
    trace_ids: [],
  })
  const noise = randomBytes(1024).toString('base64') // makes nearly every byte value occur in the compressed recording
  const meta = { type: 4, timestamp: run.now, data: { href: 'about:blank', width: 1, height: 1, noise } }
  const recording = Buffer.concat([Buffer.from('{"segment_id":0}\n'), deflateSync(JSON.stringify([meta]))])
  return serialize({ event_id: run.id, dsn }, [
    { header: { type: 'replay_event', length: event.length }, payload: event },
    { header: { type: 'replay_recording', length: recording.length }, payload: recording },
  ])
}

function commonFields({ id, now }: Run) {
  return {
    event_id: id,
    timestamp: now / 1000,
    platform: 'other',
    environment: ENVIRONMENT,
    tags: { 'culvert.doctor': id },
  }
}

/** Builds an empty client report in an envelope of at least `bytes`: Sentry accepts it, counts nothing and keeps nothing. */
export function reportEnvelope(dsn: string, { now }: Run, bytes = 0): Buffer {
  const payload = JSON.stringify({ timestamp: now / 1000, discarded_events: [] })
  const plain = serialize({ dsn }, [{ header: { type: 'client_report' }, payload }])
  return Buffer.concat([
    plain.subarray(0, -1),
    Buffer.alloc(Math.max(0, bytes - plain.length), ' '),
    Buffer.from('\n'),
  ])
}

function serialize(header: Record<string, unknown>, items: Item[]): Buffer {
  const lines = items.flatMap(({ header, payload }) => [JSON.stringify(header), payload])
  return Buffer.concat(
    [JSON.stringify(header), ...lines].flatMap((line) => [Buffer.from(line), Buffer.from('\n')]),
  )
}
