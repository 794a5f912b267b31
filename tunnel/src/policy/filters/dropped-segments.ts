/** Memory of dropped segments, for spans of theirs that arrive in later envelopes. */

import type { FilterReason } from 'contract/admin-api'
import type { EnvelopeHeader } from '../../envelope/headers.ts'
import { BoundedMap } from '../../pipeline/bounded-map.ts'

const MAX_TRACES = 5000
const MAX_SEGMENTS = 8 // of one trace; all together are some 10 MiB at most

const TRACE_ID = /^[0-9a-f]{32}$/i
const SPAN_ID = /^[0-9a-f]{16}$/i

/** Segments that filters have dropped, by trace, with the reason. The oldest are forgotten. */
export class DroppedSegments {
  readonly #traces = new BoundedMap<string, Map<string, FilterReason>>(MAX_TRACES)

  note(project: string, traceId: string, segmentId: string, reason: FilterReason): void {
    if (!TRACE_ID.test(traceId) || !SPAN_ID.test(segmentId)) return
    const trace = keyOf(project, traceId)
    const segments = this.#traces.get(trace) ?? new BoundedMap<string, FilterReason>(MAX_SEGMENTS)
    this.#traces.set(trace, segments)
    segments.set(copy(segmentId), reason)
  }

  /** Returns the dropped segments of the trace that an envelope belongs to. */
  ofTrace(project: string, trace: EnvelopeHeader['trace']): ReadonlyMap<string, FilterReason> | undefined {
    return typeof trace?.trace_id === 'string' ? this.#traces.get(keyOf(project, trace.trace_id)) : undefined
  }
}

function keyOf(project: string, traceId: string): string {
  return copy(`${traceId} ${project}`)
}

/** V8's substrings keep the whole payload in memory. */
function copy(text: string): string {
  return Buffer.from(text).toString()
}
