/** Filters: items of Next.js that the SDK drops in the browser, and Sentry's inbound filters that can be switched on. */

import type { BlockList } from 'node:net'
import type { FilterReason } from 'contract/admin-api'
import { blockList, contains } from 'contract/networks'
import { joinAll } from '../../envelope/body/bodies.ts'
import { createRangeRemover, mergeRanges, type Range, sizeOfRanges } from '../../envelope/body/ranges.ts'
import {
  cutParts,
  markElements,
  maxValues,
  parseHeaderLine,
  valueRange,
} from '../../envelope/header-parser.ts'
import { type Item, isContainer, withDependants } from '../../envelope/items.ts'
import { parsePayload } from '../../envelope/payload.ts'
import type { Envelope } from '../../envelope/reader.ts'
import type { Stage } from '../../pipeline/pipeline.ts'
import { DroppedSegments } from './dropped-segments.ts'
import { chosenFilters, FILTERABLE_TYPES, type Filter, type FilterSettings } from './filter-list.ts'
import { isWebCrawler } from './filter-rules.ts'
import { type Filterable, READERS, type Read, readElement } from './filterable.ts'
import { isLegacyBrowser } from './legacy-browsers.ts'

/** Removes the items, and the elements of containers, that a filter matches. */
export function filterStage(
  filters: Filters,
): Stage<'incoming' | 'client' | 'envelope' | 'project', 'remove' | 'removeElements'> {
  return function filter(ctx) {
    const sender = { userAgent: ctx.incoming.headers['user-agent'], address: ctx.client.address }
    const { items, elements } = filters.filter(ctx.envelope, sender, ctx.project.key)
    for (const [item, reason] of items) ctx.remove([item], reason)
    for (const { item, parts, payload } of elements) ctx.removeElements(item, parts, payload)
    return undefined
  }
}

/** Sender of an envelope. */
type Sender = { userAgent?: string | undefined; address?: string | undefined }

type Filtered = {
  /** Items to remove, dependants included. */
  items: ReadonlyMap<Item, FilterReason>
  elements: readonly FilteredElements[]
}

/** Elements to remove from a container of which some are left. */
type FilteredElements = {
  item: Item
  /** Removed elements of each reason, as an item. */
  parts: ReadonlyMap<Item, FilterReason>
  /** The other elements. */
  payload: Buffer
}

/** A security report has no user agent that a filter reads, but it has a sender. */
const SENT_TYPES = [...FILTERABLE_TYPES, 'raw_security', 'security']

function typesOfSender(reason: FilterReason): readonly string[] {
  return reason === 'ip-address' ? SENT_TYPES : FILTERABLE_TYPES
}

/** Escape of a character that a hint may look for, as in `can\u0027t` and `chrome:\/\/`. */
const ASCII_ESCAPE = /\\(?:u00[2-7]|\/)/i

/** More than a container of 1,000 spans has; each of its elements is small. */
const MAX_CONTAINER_VALUES = 100_000

export class Filters {
  /** Returns `true` if a filter may have to read the payload of items of a type. */
  readonly reads: (type: string) => boolean
  readonly #filters: readonly Filter[]
  readonly #webCrawlers: boolean
  readonly #legacyBrowsers: boolean
  /** Absent: no address is filtered. */
  readonly #addresses: BlockList | undefined
  readonly #segments = new DroppedSegments()

  constructor(settings: FilterSettings) {
    this.#filters = chosenFilters(settings)
    this.#webCrawlers = settings.on.has('web-crawlers')
    this.#legacyBrowsers = settings.on.has('legacy-browsers')
    this.#addresses = settings.addresses.length > 0 ? blockList(settings.addresses) : undefined
    const types = new Set(this.#filters.flatMap((filter) => filter.types))
    this.reads = (type) => types.has(type)
  }

  /** Finds the items to remove. `project` separates the traces of projects. */
  filter(envelope: Envelope, sender: Sender, project: string): Filtered {
    const ofSender = this.#reasonOfSender(sender)
    const items = new Map<Item, FilterReason>()
    const elements: FilteredElements[] = []
    for (const item of envelope.items) {
      if (ofSender && typesOfSender(ofSender).includes(item.type)) items.set(item, ofSender)
      else if (this.reads(item.type)) {
        const found = this.#filterItem(item, envelope, project)
        if (typeof found === 'string') items.set(item, found)
        else if (found) elements.push(found)
      }
    }
    return { items: withDependants(envelope.items, items), elements }
  }

  #reasonOfSender({ userAgent = '', address = '' }: Sender): FilterReason | undefined {
    if (this.#addresses && contains(this.#addresses, address)) return 'ip-address'
    if (this.#legacyBrowsers && isLegacyBrowser(userAgent, '')) return 'legacy-browsers'
    return this.#webCrawlers && isWebCrawler(userAgent) ? 'web-crawlers' : undefined
  }

  #filterItem(item: Item, envelope: Envelope, project: string): FilterReason | FilteredElements | undefined {
    const bytes = joinAll(item.payload)
    const filters = this.#likelyFilters(item, bytes, envelope)
    const segments = item.type === 'span' ? this.#segments.ofTrace(project, envelope.header.trace) : undefined
    if (filters.length === 0 && !segments) return undefined
    const reasonsOf = (found: Filterable[]) => this.#reasonsOf(found, filters, segments, project)
    if (isContainer(item)) return filterContainer(item, bytes, reasonsOf)
    const read = READERS.get(item.type)
    const found = read && readPayload(bytes, read)
    const [reason] = found ? reasonsOf([found]) : []
    if (reason && found?.spans !== undefined) item.spans = found.spans
    return reason
  }

  #likelyFilters({ type }: Item, bytes: Buffer, { header }: Envelope): Filter[] {
    const filters = this.#filters.filter(
      ({ types, appliesTo }) => types.includes(type) && (appliesTo?.(header) ?? true),
    )
    if (filters.length === 0) return filters
    const text = bytes.toString('latin1')
    const mayBeEscaped = text.includes('\\') && ASCII_ESCAPE.test(text) // the pattern alone takes 30 times as long
    return mayBeEscaped ? filters : filters.filter(({ hint }) => hint.test(text))
  }

  /** Returns the reason to drop each; the spans of a segment are dropped together. */
  #reasonsOf(
    found: readonly Filterable[],
    filters: readonly Filter[],
    known: ReadonlyMap<string, FilterReason> | undefined,
    project: string,
  ): (FilterReason | undefined)[] {
    const reasons = found.map((item) => filters.find(({ matches }) => matches(item))?.reason)
    const segments = new Map(known)
    for (const [index, { segment }] of found.entries()) {
      const reason = reasons[index]
      if (!segment || !reason) continue
      segments.set(segment.segmentId, reason)
      this.#segments.note(project, segment.traceId, segment.segmentId, reason)
    }
    segments.delete('')
    return reasons.map((reason, index) => reason ?? segments.get(found[index]?.segment?.segmentId ?? ''))
  }
}

/** Returns `undefined` for payloads that are no JSON or take too long to parse; Sentry judges them. */
function readPayload(bytes: Buffer, read: Read): Filterable | undefined {
  const payload = parsePayload(bytes)
  return payload === undefined ? undefined : read(payload)
}

/** Returns `undefined` when nothing is to be removed, or when Relay would not accept the container either. */
function filterContainer(
  item: Item,
  bytes: Buffer,
  reasonsOf: (found: Filterable[]) => (FilterReason | undefined)[],
): FilterReason | FilteredElements | undefined {
  if (maxValues(bytes) > MAX_CONTAINER_VALUES) return undefined
  const line = parseHeaderLine(bytes)
  if (!line) return undefined
  const start = valueRange(line, 'items')?.[0]
  const { items: elements } = line.value
  if (start === undefined || !Array.isArray(elements) || elements.length !== item.header.item_count)
    return undefined
  const reasons = reasonsOf(elements.map(readElement))
  const [first] = reasons.filter((reason) => reason !== undefined)
  if (first === undefined) return undefined
  if (!reasons.includes(undefined)) return first
  return removeElements(item, bytes, markElements(line.text, start), reasons)
}

function removeElements(
  item: Item,
  payload: Buffer,
  places: readonly Range[],
  reasons: readonly (FilterReason | undefined)[],
): FilteredElements {
  const { type } = item
  const parts = new Map<Item, FilterReason>()
  for (const [reason, removed] of Map.groupBy(places.keys(), (index) => reasons[index])) {
    if (!reason) continue
    const bytes = sizeOfRanges(removed.flatMap((index) => [places[index] ?? [0, 0]]))
    const header = { item_count: removed.length }
    parts.set({ type, header, range: [0, 0], bytes, payload: [] }, reason)
  }
  const cuts = mergeRanges(cutParts(places, (index) => reasons[index] !== undefined))
  return { item, parts, payload: Buffer.concat(createRangeRemover(cuts)(payload)) }
}
