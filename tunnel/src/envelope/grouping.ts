/**
 * Groups of events with the same cause, for the inbox and for storm protection. The rules are those of Sentry's own grouping, as far as they
 * apply before source maps: exception types and frames of the app; messages only where no frame has a name.
 */

import { hash } from 'node:crypto'
import { valuesOf } from 'contract/event-fields'
import { type Json, list, object, scalarText as text } from 'contract/json'
import type { Item } from './items.ts'

export type Group = {
  /** Events of one cause have the same ID. */
  id: string
  /** Types of the exceptions, and the function nearest to the error. Without the message, which may hold personal data. */
  title: string
  /** Function and file of the frame nearest to the error. Empty without frames. */
  culprit: string
}

const MAX_EXCEPTIONS = 5 // those raised last
const MAX_FRAMES = 5 // of the app, nearest to the error: the outer ones are those of frameworks
const MAX_FINGERPRINT = 20 // parts
const MAX_LENGTH = 300
const MAX_FILE = 2_000 // before what differs is left out
const ID_LENGTH = 16

/** Part of a fingerprint that means the group of the event without a fingerprint. */
const DEFAULT_PART = /^\{\{\s*default\s*\}\}$/

/**
 * Returns the group of an event: by the fingerprint of its SDK, else by its exceptions, else by its message. Returns `undefined` for an event
 * without any of these.
 */
export function groupOf(event: Json): Group | undefined {
  const exceptions = valuesOf(event.exception)
    .slice(-MAX_EXCEPTIONS)
    .map((exception) => describeException(exception, event))
  const message = exceptions.length > 0 ? '' : patternOf(templateOf(event))
  const own = exceptions.length > 0 ? exceptions.flatMap(({ parts }) => parts) : ['message', message]
  const fingerprint = list(event.fingerprint).slice(0, MAX_FINGERPRINT).map(text).filter(Boolean)
  if (exceptions.length === 0 && message === '' && fingerprint.length === 0) return undefined
  const parts = fingerprint.flatMap((part) => (DEFAULT_PART.test(part) ? own : part.slice(0, MAX_LENGTH)))
  const types = exceptions.map(({ type }) => type).join(', ') || 'Message'
  const { place, culprit } = exceptions.findLast((each) => each.place !== '') ?? { place: '', culprit: '' }
  const title = place ? `${types} in ${place}` : types
  return { id: groupId(parts.length > 0 ? parts : own), title, culprit }
}

/**
 * Returns the group of an attachment of which Sentry makes an event. Crash reports cannot be read: those of one format and project count as
 * identical.
 */
export function groupOfAttachment({ header }: Pick<Item, 'header'>): Group {
  const type = text(header.attachment_type)
  return { id: groupId(['attachment', type]), title: `Attachment ${type}`, culprit: '' }
}

/** Returns the ID of a group. Equal parts give equal IDs. */
export function groupId(parts: readonly string[]): string {
  return hash('sha256', JSON.stringify(parts), 'hex').slice(0, ID_LENGTH)
}

/** Replaces the parts that differ between two reports of one error: IDs, addresses and numbers. */
export function patternOf(message: string): string {
  return message
    .slice(0, 2 * MAX_LENGTH)
    .replaceAll(/\b(?:0x)?(?=[a-f-]*\d)[\da-f][\da-f-]{7,}\b/gi, '#')
    .replaceAll(/\d+(?:[.,:]\d+)*/g, '#')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .slice(0, MAX_LENGTH)
}

/** Returns the text before its parameters are filled in, if the SDK has sent it. */
function templateOf({ logentry, message }: Json): string {
  const entry = object(logentry ?? message)
  return text(entry.message) || text(entry.formatted) || text(message)
}

type Description = Pick<Group, 'culprit'> & { type: string; parts: string[]; place: string }

/** The message counts if the frame nearest to the error has no name: two functions without a name in one file look the same. */
function describeException(exception: Json, event: Json): Description {
  const type = text(exception.type).slice(0, MAX_LENGTH) || 'Error'
  const frames = framesOf(exception, event).map((frame) => describeFrame(frame, event))
  const { name = '', file = '', path = '' } = frames.at(-1) ?? {}
  const parts = ['exception', type, ...frames.map((frame) => `${frame.name} in ${frame.file}`)]
  if (name === '') parts.push(patternOf(text(exception.value)))
  return {
    type,
    parts,
    place: name || file.slice(1 + Math.max(file.lastIndexOf('/'), file.lastIndexOf('\\'))),
    culprit: [name, path].filter(Boolean).join(' in '),
  }
}

/** Returns the frames of the app nearest to the error; those of any code if none is marked as the app's. */
function framesOf(exception: Json, event: Json): readonly Json[] {
  const all = framesAlike(list(object(exception.stacktrace).frames).map(object), event)
  const own = all.filter((frame) => frame.in_app === true)
  return (own.length > 0 ? own : all).slice(-MAX_FRAMES)
}

/** Origins and queries of URLs depend on the site. Lines, columns and hashes in file names change with each build. */
function describeFrame(frame: Json, event: Json): { name: string; file: string; path: string } {
  const file = text(frame.module) || text(frame.filename) || text(frame.abs_path)
  const path = file.slice(0, MAX_FILE).replace(/^[a-z:-]+\/\/[^/]*|[?#].*$/gis, '')
  return { name: functionOf(frame, event).slice(0, MAX_LENGTH), file: patternOf(path), path }
}

/** Functions without a name: V8, SDK, WebKit. */
const UNNAMED = /^(?:\?|<?anonymous>?|\(anonymous\)|(?:global|module|eval) code)$/
/** Files of functions that the engine has built in: V8 and WebKit. Firefox has no frames for them. */
const BUILT_IN = new Set(['<anonymous>', '[native code]', 'native'])

/** Start of the name of a function that has called the next ones earlier: V8's `async pay`, Firefox's `async*pay` and `setTimeout handler*pay`. */
const ASYNC = /^(?:async |[^*]+\*)/

/** Returns the frames that a stack has in each browser: without callers before an `await`, and without built-in functions such as `Array.map`. */
function framesAlike(frames: readonly Json[], event: Json): readonly Json[] {
  if (!isJavaScript(event)) return frames
  const called = frames.slice(1 + frames.findLastIndex((frame) => ASYNC.test(text(frame.function))))
  const own = called.filter((frame) => !BUILT_IN.has(text(frame.filename) || text(frame.abs_path)))
  return own.length > 0 ? own : frames
}

/** Returns the name of a frame's function, which is the same in each browser. */
function functionOf(frame: Json, event: Json): string {
  const name = text(frame.function)
  return isJavaScript(event) ? plainFunctionName(name) : name
}

/** Returns `true` if an event may come from a browser. In other languages, the receiver tells functions apart. */
function isJavaScript({ platform }: Json): boolean {
  return platform === undefined || platform === 'javascript' || platform === 'node'
}

/**
 * Returns the name of a function alone. V8 writes `Cart.total`, `new Cart`, `async Cart.pay` and `Cart.<anonymous>`, where Firefox and
 * WebKit write `total`, `Cart`, `pay` and nothing. Firefox writes `total/<` for a function without a name in `total`.
 */
function plainFunctionName(name: string): string {
  const plain = name
    .slice(0, MAX_LENGTH)
    .replace(/ \[as [^\]]*\]$/, '')
    .replace(ASYNC, '')
    .replace(/^(?:new|bound) /, '')
    .replace(/^(?!.*\.\/)[^ ]*\//, '') // the functions around it; `./cart.js` is a module
    .replace(/^(?:[^.[\]<>\s]+\.)+(?=.)/, '') // the receiver
    .replace(/^(?:get|set|static) /, '')
  return plain.endsWith('<') || UNNAMED.test(plain) ? '' : plain
}
