/** What the doctor posts: envelopes that anyone can tell for tests, and that cost nothing where that can be. */

import { randomBytes } from 'node:crypto'
import { deflateSync } from 'node:zlib'

/** Events of all runs are one issue in Sentry, in an environment of their own. */
export const ENVIRONMENT = 'culvert-doctor'

type Part = { header: Record<string, unknown>; payload: string | Buffer }

/** A run's name stands in what it leaves behind. */
export type Run = { id: string; now: number }

export function errorEnvelope(dsn: string, run: Run): Buffer {
  const payload = JSON.stringify({
    ...marked(run),
    level: 'info',
    logger: ENVIRONMENT,
    message: 'This is a test by npm run doctor, no error.',
    fingerprint: [ENVIRONMENT],
  })
  return join({ event_id: run.id, dsn }, [{ header: { type: 'event', length: payload.length }, payload }])
}

/** One segment that shows nothing, compressed as browsers send it: no text in any encoding. */
export function replayEnvelope(dsn: string, run: Run): Buffer {
  const event = JSON.stringify({
    ...marked(run),
    type: 'replay_event',
    replay_id: run.id,
    replay_type: 'session',
    segment_id: 0,
    replay_start_timestamp: run.now / 1000,
    urls: [],
    error_ids: [],
    trace_ids: [],
  })
  const noise = randomBytes(1024).toString('base64') // so that nearly every byte value stands in what it is packed to
  const meta = { type: 4, timestamp: run.now, data: { href: 'about:blank', width: 1, height: 1, noise } }
  const recording = Buffer.concat([Buffer.from('{"segment_id":0}\n'), deflateSync(JSON.stringify([meta]))])
  return join({ event_id: run.id, dsn }, [
    { header: { type: 'replay_event', length: event.length }, payload: event },
    { header: { type: 'replay_recording', length: recording.length }, payload: recording },
  ])
}

function marked({ id, now }: Run) {
  return {
    event_id: id,
    timestamp: now / 1000,
    platform: 'other',
    environment: ENVIRONMENT,
    tags: { 'culvert.doctor': id },
  }
}

/** A client report of nothing, `bytes` long altogether: Sentry takes it, counts nothing and keeps nothing. */
export function reportEnvelope(dsn: string, { now }: Run, bytes = 0): Buffer {
  const payload = JSON.stringify({ timestamp: now / 1000, discarded_events: [] })
  const plain = join({ dsn }, [{ header: { type: 'client_report' }, payload }])
  return Buffer.concat([
    plain.subarray(0, -1),
    Buffer.alloc(Math.max(0, bytes - plain.length), ' '),
    Buffer.from('\n'),
  ])
}

function join(header: Record<string, unknown>, parts: Part[]): Buffer {
  const lines = parts.flatMap(({ header, payload }) => [JSON.stringify(header), payload])
  return Buffer.concat(
    [JSON.stringify(header), ...lines].flatMap((line) => [Buffer.from(line), Buffer.from('\n')]),
  )
}
