/** Scrubs the JSON payload of an item. */

import { isUtf8 } from 'node:buffer'
import { isObject, list } from 'contract/json'
import { ScrubBudget, Unscrubbable } from './budget.ts'
import { applyRules, countCharacters, replaceParts } from './redaction.ts'
import { RuleIndex, type RuleSet } from './rules.ts'
import { type Change, type Shape, type Tree, Walk } from './walk.ts'

const MAX_META_BYTES = 256 * 1024
const MAX_EVENT_BYTES = 1024 * 1024 // Relay rejects larger ones: remarks are left out before they make one too large

export type Scrubbed = {
  /** Payload after scrubbing; absent if it is the same. */
  payload?: Buffer
  changes: readonly Change[]
  /** Redacted values by rule. */
  hits: ReadonlyMap<string, number>
}

export class Scrubber {
  readonly #rules: RuleIndex

  constructor(rules: RuleSet) {
    this.#rules = new RuleIndex(rules)
  }

  /**
   * Writes a payload anew from what was read of it, so that Sentry reads nothing that no rule has searched. Throws `Unscrubbable` for one that
   * Sentry's JSON parser would not accept either, for one with 20,000 values to redact, and when the budget is used up.
   */
  scrub(payload: Buffer, itemType: string, shape: Shape, budget = new ScrubBudget(() => 0)): Scrubbed {
    if (!isUtf8(payload)) throw new Unscrubbable('it is not UTF-8')
    const before = payload.toString()
    const walk = new Walk(this.#rules, itemType, shape, budget)
    const root = walk.run(parse(before))
    const { changes } = walk
    const maxBytes = shape === 'container' ? payload.length + MAX_META_BYTES : MAX_EVENT_BYTES
    const after = writeWithRemarks(root, changes, maxBytes)
    const scrubbed = { changes, hits: countHits(changes) }
    return after === before ? scrubbed : { ...scrubbed, payload: Buffer.from(after) }
  }

  /** Scrubs a text that is no JSON, such as the value of a header. */
  scrubText(text: string): string {
    return replaceParts(text, applyRules(text, this.#rules.rulesForText, 0))
  }
}

/** Integers that a double may not hold, and numbers with an exponent. */
const LONG_NUMBER = /[[:,\s]-?(?:\d{16}|[\d.]+[eE])/

declare global {
  interface JSON {
    parse(
      text: string,
      reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
    ): unknown
    rawJSON(text: string): { rawJSON: string }
    isRawJSON(value: unknown): value is { rawJSON: string }
  }
}

function parse(text: string): unknown {
  try {
    return LONG_NUMBER.test(text) ? JSON.parse(text, keepNumber) : JSON.parse(text)
  } catch {
    throw new Unscrubbable('it is not JSON')
  }
}

function keepNumber(_: string, value: unknown, { source }: { source?: string }): unknown {
  return typeof value === 'number' && source !== undefined && String(value) !== source
    ? JSON.rawJSON(source)
    : value
}

function countHits(changes: readonly Change[]): Map<string, number> {
  const hits = new Map<string, number>()
  for (const { remarks } of changes) for (const [rule] of remarks) hits.set(rule, (hits.get(rule) ?? 0) + 1)
  return hits
}

/** Returns a payload as JSON. It has remarks in `_meta`, as Relay writes them, unless they make it too large. */
function writeWithRemarks(root: unknown, changes: readonly Change[], maxBytes: number): string {
  const noted = changes.filter(({ isNoted }) => isNoted)
  const hosts = Array.from(
    Map.groupBy(noted, ({ host }) => host.value ?? {}),
    ([host, own]) => ({ host, own, meta: host._meta }),
  )
  for (const { host, own, meta } of hosts) host._meta = withRemarks(meta, own)
  const text = JSON.stringify(root)
  if (hosts.length === 0 || Buffer.byteLength(text) <= maxBytes) return text
  for (const { host, meta } of hosts) host._meta = meta
  return JSON.stringify(root)
}

/** Returns `_meta` with the remarks added, at the paths of the values (relay-protocol/src/meta.rs). */
function withRemarks(meta: unknown, changes: readonly Change[]): Tree {
  const root = isObject(meta) ? (parse(JSON.stringify(meta)) as Tree) : {}
  for (const { path, remarks, before } of changes) {
    let tree = root
    for (const part of [...path, '']) tree = childOf(tree, String(part))
    tree.rem = [...list(tree.rem), ...remarks]
    const isText = typeof before === 'string' && remarks[0]?.[2] !== undefined
    if (isText) tree.len ??= countCharacters(before)
  }
  return root
}

function childOf(tree: Tree, key: string): Tree {
  const known = Object.hasOwn(tree, key) ? tree[key] : undefined
  if (typeof known === 'object' && known !== null && !Array.isArray(known)) return known as Tree
  const child: Tree = {}
  // `__proto__` is a key like others
  Object.defineProperty(tree, key, { value: child, enumerable: true, writable: true, configurable: true })
  return child
}
