/** Fields that Sentry needs as they are: for grouping, for source maps and to connect events. */

/** Keys and indexes from the root of an event, or of an element of a container, to a value. */
export type Path = readonly (string | number)[]

const ROOTS = new Set(['debug_meta', 'sdk', 'modules', 'measurements'])

const IDENTIFIERS = new Set(
  [
    'event_id check_in_id trace_id span_id parent_span_id segment_id replay_id replayId replay_ids trace_ids error_ids profile_id profiler_id',
    'debug_id code_id build_id linked_event_id associated_event_id',
    'sentry.replay_id sentry.replayId sentry.trace.parent_span_id sentry.segment.id',
  ].flatMap((line) => line.split(' ')),
)
const IDENTIFIER = /^[\w:-]{0,80}$/

/** Fields by which Sentry reads the others. */
const KINDS = new Set(['type', 'platform', 'level', 'timestamp', 'start_timestamp', 'received'])

/** Fields of the root, and of attributes with the prefix `sentry.`. */
const VERSIONS = new Set(['release', 'dist', 'environment'])

const FRAME_FIELDS = new Set(['filename', 'abs_path', 'function', 'raw_function', 'module', 'package'])

/**
 * Returns where the part of a text begins that rules may redact without naming the field; `Infinity` for a field that Sentry needs as it is.
 * In the location of a stack frame, rules may redact only the query and fragment of its URL: paths may look like email addresses, as in `jquery@3.6.0.min.js`.
 */
export function redactableFrom(path: Path, text: string): number {
  const [root] = path
  if (typeof root === 'string' && ROOTS.has(root)) return Infinity
  if (path.length === 1 && (VERSIONS.has(String(root)) || KINDS.has(String(root)))) return Infinity
  const name = nameOf(path)
  if (IDENTIFIERS.has(name) && IDENTIFIER.test(text)) return Infinity
  if (name.startsWith('sentry.') && VERSIONS.has(name.slice(7))) return Infinity
  const last = path.at(-1)
  if (path.at(-3) !== 'frames' || typeof last !== 'string' || !FRAME_FIELDS.has(last)) return 0
  const query = text.search(/[?#]/)
  return query < 0 ? Infinity : query
}

/** Texts that Sentry parses: a redacted one would be an error there. */
const PARSED = new Set([
  'user.ip_address',
  'attrs.ip_address',
  'request.cookies',
  'contexts.response.cookies',
])

/** Returns `true` if a text is removed if a part of it is redacted. */
export function isParsed(path: Path): boolean {
  return path.length <= 3 && PARSED.has(path.join('.'))
}

/** Returns `true` if a field of a session stays as it is: all but its user and address are read by Sentry. */
export function isFixedInSessions(path: Path): boolean {
  return !['did', 'ip_address'].includes(String(path.at(-1)))
}

/** Returns the name of a value: its key, that of its list, or that of its attribute. */
function nameOf(path: Path): string {
  const last = path.at(-1)
  if (last === 'value' && path.at(-3) === 'attributes') return String(path.at(-2))
  return String(typeof last === 'number' ? path.at(-2) : last)
}

/** Contexts that Relay knows. All others belong to the app. */
const KNOWN_CONTEXTS =
  'app|browser|culture|device|feedback|flags|gpu|monitor|os|otel|profile|replay|reprocessing|response|runtime|spring|trace|unity'

/** Fields of the root that Relay knows, in events, spans, logs, metrics and replays. It takes all others for data of the app. */
const KNOWN_ROOTS = [
  'event_id level version type fingerprint culprit transaction transaction_info time_spent logentry logger modules platform timestamp',
  'start_timestamp received release dist environment site user request contexts breadcrumbs exception stacktrace template threads tags',
  'debug_meta sdk ingest_path errors key_id project grouping_config checksum spans measurements breakdowns scraping_attempts _metrics',
  '_meta csp hpkp expectct expectstaple op description status trace_id span_id parent_span_id segment_id is_segment exclusive_time origin',
  'profile_id data sentry_tags kind links was_transaction is_remote name end_timestamp attributes severity_number severity_text value unit',
  'replay_id replay_type replay_start_timestamp urls error_ids trace_ids items',
].flatMap((line) => line.split(' '))

/** Fields with data of the app or its visitors, which Sentry can do without: those with `pii = "true"` in relay-event-schema. */
const PERSONAL = fields(
  `(?!(?:${KNOWN_ROOTS.join('|')})$)*`,
  'logentry.(?:formatted|params)',
  'user.(?!geo$)*',
  'user.geo.*',
  'request.(?!(?:url|method|inferred_content_type|api_target|protocol)$)*',
  'breadcrumbs.(?:values.)?*.(?:message|data)',
  'exception.(?:values.)?*.(?:value|mechanism.description|mechanism.data)',
  '(?:[^]+?.)?frames.*.vars',
  `contexts.(?!(?:${KNOWN_CONTEXTS})$)*`,
  'contexts.response.(?:cookies|headers|data)',
  'contexts.trace.data.*',
  'contexts.device.device_unique_identifier',
  'spans.*.data.(?!sentry\\.|http\\.request\\.method$)*',
  'csp.*',
  'sdk.client_ip',
  'template.filename',
  // Single spans, replays, and elements of containers
  'data.*',
  'urls.*',
  'attributes.*.value',
)

/** Fields whose members have names given by the app. */
const TAGGED = fields('(?:spans.*.)?tags', 'contexts.*.*')

const PAIR_LISTS = fields(
  '(?:spans.*.)?tags',
  'request.(?:headers|cookies|query_string|env)',
  'contexts.response.(?:headers|cookies)',
)

/** Returns a pattern for a path joined with line feeds, and everything below it: `.` separates keys, `*` is any key or index, `$` the end of a key. */
function fields(...patterns: string[]): RegExp {
  const sources = patterns.map((pattern) =>
    pattern.replaceAll(/\\.|[.*$]/g, (part) => ({ '.': '\n', '*': '[^\n]*', $: '(?:\n|$)' })[part] ?? part),
  )
  return new RegExp(`^(?:${sources.join('|')})(?:\n|$)`)
}

/** Returns `true` if Sentry can do without a value: it holds data of the app, and is not the name in a pair. */
export function isPersonal(path: Path): boolean {
  if (path.length === 0 || (path.at(-1) === 0 && isPairList(path.slice(0, -2)))) return false
  return PERSONAL.test(path.join('\n'))
}

export function isTagged(path: Path): boolean {
  return TAGGED.test(path.join('\n'))
}

/** Returns `true` if a list has pairs of a name and a value, in the place of an object. */
export function isPairList(path: Path): boolean {
  const text = path.join('\n')
  return PAIR_LISTS.exec(text)?.[0].length === text.length
}

/** Fields by which Sentry distinguishes users. */
const USER_FIELDS = fields(
  'user.(?:id|username|email)',
  'attributes.(?:end)?user\\.(?:id|name|username|email).value',
  '(?:spans.*.)?data.(?:end)?user\\.(?:id|name|username|email)',
  'contexts.feedback.contact_email',
  '(?:aggregates.*.)?did',
)

export function isUserField(path: Path): boolean {
  const text = path.join('\n')
  return USER_FIELDS.exec(text)?.[0].length === text.length
}

/** Returns `true` if a field holds the address to which a visitor wants a reply. */
export function isReplyAddress(path: Path, itemType: string): boolean {
  const text = path.join('.')
  return text === 'contexts.feedback.contact_email' || (itemType === 'user_report' && text === 'email')
}
