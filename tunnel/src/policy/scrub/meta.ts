/** `_meta` of an event: remarks about redacted values, at the same paths, as Relay writes them (relay-protocol/src/meta.rs). */

import type { Remark } from './redaction.ts'

/**
 * Place of the remarks: in the root object (`event`), in each element of `items` (`container`), or nowhere (`plain`), where Sentry would
 * not read them.
 */
export type Shape = 'event' | 'container' | 'plain'

/** Remarks about one value. */
export type Note = {
  path: readonly (string | number)[]
  remarks: readonly Remark[]
  /** Characters of the text before, if it was one. */
  length?: number
}

type Tree = { [key: string]: unknown }

/** Returns `_meta` as JSON, with the notes added to what `existing` has. */
export function writeMeta(notes: readonly Note[], existing?: string): string {
  const root = parseTree(existing)
  for (const { path, remarks, length } of notes) {
    let tree = root
    for (const part of path) tree = childOf(tree, String(part))
    const own = childOf(tree, '')
    own.rem = [...(Array.isArray(own.rem) ? own.rem : []), ...remarks]
    if (length !== undefined) own.len ??= length
  }
  return JSON.stringify(root)
}

function parseTree(text: string | undefined): Tree {
  const value: unknown = text === undefined ? {} : JSON.parse(text)
  return isTree(value) ? value : {}
}

function childOf(tree: Tree, key: string): Tree {
  const known = Object.hasOwn(tree, key) ? tree[key] : undefined
  if (isTree(known)) return known
  const child: Tree = {}
  // `__proto__` is a key like others
  Object.defineProperty(tree, key, { value: child, enumerable: true, writable: true, configurable: true })
  return child
}

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
