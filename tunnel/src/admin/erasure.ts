/** Erasure of one person: finds the envelopes that name a user, and removes them. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { isObject } from 'contract/json'
import { parseAddress } from 'contract/networks'
import type { StoreErased } from 'contract/store'
import type { Item } from '../envelope/items.ts'
import { parsePayload } from '../envelope/payload.ts'
import type { Envelope, ReaderLimits } from '../envelope/reader.ts'
import type {
  EndedEntry,
  EndedPlace,
  ListedEntry,
  OnFinalOutcome,
  Position,
  Spool,
} from '../pipeline/spool.ts'
import { purgePending, readStored } from './stored-entries.ts'

export type ErasureDeps = {
  spool: Spool
  onFinalOutcome: OnFinalOutcome
  /** Bounds of header lines and items. */
  limits: Omit<ReaderLimits, 'keep'>
}

/** Place in the store at which a step begins. Pending entries come first: those that end meanwhile are found among the ended ones. */
export type ErasurePlace = { pending: Position } | { ended: EndedPlace | undefined }

/** Entries that one step searches. */
const STEP = 100
/** Payloads of an envelope that are searched together: an event may have 1 MiB, logs and spans 12 MiB. */
const SEARCHED_BYTES = 16 * 1024 * 1024
/** Types that are recordings and files. What they contain is not searched. */
const UNSEARCHED = ['attachment', 'replay_recording', 'replay_video', 'profile', 'profile_chunk']
const SEARCHED = { keep: (type: string) => !UNSEARCHED.includes(type), keptBytes: SEARCHED_BYTES }

/** Names of members that identify a user wherever they stand, in lower case. */
const NAMES = new Set([
  ...['email', 'username', 'user_name', 'ip_address', 'user_id', 'contact_email', 'did'],
  ...['user.id', 'user.email', 'user.name', 'user.username', 'user.ip_address', 'client.address'],
])
/** Names of members of an object `user`. */
const USER_NAMES = new Set(['id', 'name'])
/** Headers of the request to Sentry that hold the client address. */
const ADDRESS_HEADER = /^(x-forwarded-for|x-sentry-forwarded-for|x-real-ip)$/i

/** Searches one step of the store, and removes the envelopes found unless `isDry`. */
export async function eraseStep(
  deps: ErasureDeps,
  user: string,
  { isDry, place }: { isDry: boolean; place: ErasurePlace | undefined },
): Promise<StoreErased & { nextPlace: ErasurePlace | undefined }> {
  const { entries, nextPlace } = await listStep(deps.spool, place)
  const counts = { searched: 0, matched: 0, erased: 0, unread: 0 }
  const wanted = normalized(user)
  for (const entry of entries) {
    await nextTurn() // live traffic shares the event loop
    if (isEnded(entry) && !entry.isStored) continue // only a line is left, which names nobody
    counts.searched++
    const found = await search(deps, entry, wanted)
    if (found === 'unread') counts.unread++
    if (found !== 'match') continue
    counts.matched++
    if (!isDry) counts.erased += await remove(deps, entry)
  }
  return { ...counts, nextPlace }
}

async function listStep(
  spool: Spool,
  place: ErasurePlace | undefined,
): Promise<{ entries: (ListedEntry | EndedEntry)[]; nextPlace: ErasurePlace | undefined }> {
  if (place && 'ended' in place) {
    const { ended } = place
    const entries = await spool.entries.list({}, { limit: STEP, ...(ended && { after: ended }) })
    const last = entries.length === STEP ? entries.at(-1) : undefined
    return { entries, nextPlace: last && { ended: { ended: last.ended, id: last.id } } }
  }
  const after = place && { after: place.pending }
  const entries = await spool.list({ order: 'newest', limit: STEP, ...after })
  const last = entries.length === STEP ? entries.at(-1) : undefined
  const pending = last && { received: last.resent ?? last.received, place: last.place }
  return { entries, nextPlace: pending ? { pending } : { ended: undefined } }
}

type Found = 'match' | 'none' | 'unread' | 'gone'

async function search(
  { spool, limits }: ErasureDeps,
  entry: ListedEntry | EndedEntry,
  wanted: string,
): Promise<Found> {
  if (addressesOf(entry.headers).some((address) => normalized(address) === wanted)) return 'match'
  try {
    const stored = isEnded(entry) ? await spool.entries.read(entry) : await spool.read(entry)
    return searchEnvelope(await readStored(stored, { ...limits, ...SEARCHED }), wanted)
  } catch {
    return (await isThere(spool, entry)) ? 'unread' : 'gone' // it was delivered, or removed by somebody else
  }
}

/** Searches an envelope. `unread`: it does not match, and a part of it could not be searched. */
export function searchEnvelope({ items, trace }: Envelope, wanted: string): Found {
  const payloads = items.filter(({ type }) => !UNSEARCHED.includes(type)).map(readPayload)
  if (trace) payloads.push(parsePayload(trace.bytes))
  if (payloads.some((payload) => payload !== undefined && mentions(payload, wanted))) return 'match'
  return payloads.includes(undefined) ? 'unread' : 'none'
}

function readPayload({ payload, bytes }: Item): unknown {
  if (bytes === 0) return null
  return parsePayload(Buffer.concat(payload))
}

/** Returns whether a member that identifies a user has the value. Recursion would let a deep payload overflow the stack. */
function mentions(payload: unknown, wanted: string): boolean {
  const open: { value: object; isUser: boolean }[] = isContainer(payload)
    ? [{ value: payload, isUser: false }]
    : []
  for (let at = open.pop(); at; at = open.pop())
    for (const [key, member] of Object.entries(at.value)) {
      const name = key.toLowerCase()
      const value = isObject(member) && 'value' in member ? member.value : member // attributes of spans and logs
      if (
        (NAMES.has(name) || (at.isUser && USER_NAMES.has(name))) &&
        isScalar(value) &&
        normalized(`${value}`) === wanted
      )
        return true
      if (isContainer(member)) open.push({ value: member, isUser: name === 'user' })
    }
  return false
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function isScalar(value: unknown): value is string | number {
  return typeof value === 'string' || typeof value === 'number'
}

/** Returns a text as it is compared: addresses in their shortest spelling, other texts without regard to case and blank space around them. */
export function normalized(text: string): string {
  return parseAddress(text.trim()) ?? text.trim().toLowerCase()
}

function addressesOf(headers: readonly string[]): string[] {
  return headers.filter((_, i) => i % 2 === 1 && ADDRESS_HEADER.test(headers[i - 1] ?? ''))
}

async function isThere(spool: Spool, entry: ListedEntry | EndedEntry): Promise<boolean> {
  const found = isEnded(entry)
    ? await spool.entries.list({ entry }, { limit: 1 })
    : await spool.list({ entry })
  return found.length > 0
}

function remove(deps: ErasureDeps, entry: ListedEntry | EndedEntry): Promise<number> {
  return isEnded(entry) ? deps.spool.entries.purge({ entry }) : purgePending(deps, { entry })
}

function isEnded(entry: ListedEntry | EndedEntry): entry is EndedEntry {
  return 'state' in entry
}
