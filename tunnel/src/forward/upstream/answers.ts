/** Recognises responses of a Sentry server itself, as opposed to those of a proxy, a firewall or a captive portal. */

/** 4xx that say nothing about the envelope: they pass, or come from a proxy on the way. */
const PASSING = [407, 408, 421, 425]
/** A gateway sends them for every path that it does not know, also as JSON. */
const SENT_BY_GATEWAYS = [401, 403, 404]
const MAX_READ = 8 * 1024 // bytes of a page
const MAX_SENTENCE = 160 // characters

/** Returns `true` when the response decides on the envelope: it was accepted, declined or rate-limited. */
export function isDecision(status: number, contentType: string | undefined, body: Buffer): boolean {
  if (status === 429) return true
  if (status < 200 || status >= 500 || (status >= 300 && status < 400)) return false
  if (PASSING.includes(status)) return false
  if (SENT_BY_GATEWAYS.includes(status)) return isSentryError(contentType, body)
  if (body.length === 0 || parseJson(body) !== undefined) return true
  return status === 413 && !isMarkup(body) // GlitchTip's is a sentence
}

/** Returns `true` for a 4xx that is not a decision, and that will not pass: of a firewall, or for a project that the server does not know. */
export function isRefusal(status: number | undefined): boolean {
  return status !== undefined && status >= 400 && status < 500 && !PASSING.includes(status)
}

/** Returns `true` for a 4xx, with which the host has responded completely. */
export function isClientError(status: number | undefined): boolean {
  return status !== undefined && status >= 400 && status < 500
}

/** Returns the text of a response in one line for the operator; `undefined` without a text. */
export function sentenceOf(body: Buffer): string | undefined {
  const text = body.toString('utf8', 0, MAX_READ)
  const parsed = parseJson(body)
  const own = isRecord(parsed) ? [parsed.detail, parsed.message, parsed.error].find(isText) : undefined
  const line = (own ?? textOfMarkup(text)).replace(/[\s\p{C}]+/gu, ' ').trim()
  if (line === '') return undefined
  return line.length <= MAX_SENTENCE ? line : `${line.slice(0, MAX_SENTENCE - 1).trimEnd()}…`
}

/** Recognises Relay's `ApiErrorResponse` (relay-server/src/utils/api.rs): JSON with a `detail`. */
function isSentryError(contentType: string | undefined, body: Buffer): boolean {
  if (!contentType?.includes('json')) return false
  const parsed = parseJson(body)
  return isRecord(parsed) && typeof parsed.detail === 'string'
}

function isMarkup(body: Buffer): boolean {
  return /<[a-z!/]/i.test(body.toString())
}

/** Returns the visible text of a page, or its title if there is none. */
function textOfMarkup(text: string): string {
  const title = /<title[^>]*>([^<]*)/i.exec(text)?.[1] ?? ''
  const visible = text
    .replace(/<!--.*?(-->|$)/gs, ' ')
    .replace(/<(head|style|script|title)\b.*?(<\/\1\s*>|$)/gis, ' ')
    .replace(/<[^>]*>/g, ' ')
  return decodeEntities(visible.trim() === '' ? title : visible)
}

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'", '#x27': "'" }

function decodeEntities(text: string): string {
  return text.replace(/&(#?\w{2,4});/g, (entity, name: string) => ENTITIES[name.toLowerCase()] ?? entity)
}

/** Returns `undefined` for text that is not JSON. */
function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString())
  } catch {
    return undefined
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
