/** Fields that Sentry needs as they are: for grouping, for source maps and to connect events. */

import type { Path } from './selector.ts'

const ROOTS = new Set(['debug_meta', 'sdk', 'modules', 'measurements'])

const IDENTIFIERS = new Set(
  [
    'event_id check_in_id trace_id span_id parent_span_id segment_id replay_id replayId replay_ids trace_ids error_ids profile_id profiler_id',
    'debug_id code_id build_id linked_event_id associated_event_id',
    'sentry.replay_id sentry.replayId sentry.trace.parent_span_id sentry.segment.id',
  ].flatMap((line) => line.split(' ')),
)
const IDENTIFIER = /^[\w:-]{0,80}$/

/** Fields of the root, and of attributes with the prefix `sentry.`. */
const VERSIONS = new Set(['release', 'dist', 'environment'])

const FRAME_FIELDS = new Set(['filename', 'abs_path', 'function', 'raw_function', 'module', 'package'])

/**
 * Returns where the part of a text begins that rules may redact without naming the field; `Infinity` for a field that Sentry needs as it is.
 * Of a frame's place in the code that is the query or fragment of its URL: paths may look like email addresses, as in `jquery@3.6.0.min.js`.
 */
export function redactableFrom(path: Path, text: string): number {
  const [root] = path
  if (typeof root === 'string' && (ROOTS.has(root) || (path.length === 1 && VERSIONS.has(root))))
    return Infinity
  const name = nameOf(path)
  if (IDENTIFIERS.has(name) && IDENTIFIER.test(text)) return Infinity
  if (name.startsWith('sentry.') && VERSIONS.has(name.slice(7))) return Infinity
  const last = path.at(-1)
  if (path.at(-3) !== 'frames' || typeof last !== 'string' || !FRAME_FIELDS.has(last)) return 0
  const query = text.search(/[?#]/)
  return query < 0 ? Infinity : query
}

/** Returns the name of a value: its key, that of its list, or that of its attribute. */
function nameOf(path: Path): string {
  const last = path.at(-1)
  if (last === 'value' && path.at(-3) === 'attributes') return String(path.at(-2))
  return String(typeof last === 'number' ? path.at(-2) : last)
}
