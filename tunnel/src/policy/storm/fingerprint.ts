/** Fingerprint of an error, which is the same for errors of one cause. */

import { hash } from 'node:crypto'
import { type Json, list, object, text as textOf } from 'contract/json'
import type { Item } from '../../envelope/items.ts'
import { parsePayload } from '../../envelope/payload.ts'
import { framesAlike, functionOf } from '../../envelope/stack-frames.ts'

export type Fingerprint = {
  key: string
  /** Types of the exceptions, and the innermost function. Without the message, which may hold personal data. */
  title: string
}

const MAX_EXCEPTIONS = 5
const MAX_FRAMES = 3
const MAX_TEXT = 300
const MAX_MESSAGE = 3_000 // before its numbers are replaced
const MAX_CHOSEN = 20
/** UUIDs, other IDs in hex, and numbers. */
const NUMBERS = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|[\da-f]{8,}|\d+/gi

/** Returns `undefined` for a payload that is no JSON, takes too long to parse, or has neither an exception nor a message. */
export function fingerprintOf(payload: Buffer): Fingerprint | undefined {
  const event = object(parsePayload(payload))
  const exceptions = objectsIn(object(event.exception).values).slice(-MAX_EXCEPTIONS)
  const types = exceptions.map(({ type }) => text(type) || 'Error')
  const frames = framesOf(exceptions, event)
  const message = messageText(exceptions.at(-1)?.value) || messageOf(event)
  if (exceptions.length === 0 && message === '') return undefined
  const chosen = list(event.fingerprint).slice(0, MAX_CHOSEN).map(text)
  const parts = [types, frames.map((frame) => describeFrame(frame, event)), message, chosen]
  const key = hash('sha1', JSON.stringify(parts), 'base64url').slice(0, 16)
  return { key, title: titleOf(types, frames.at(-1)) }
}

/** Returns the fingerprint of a crash report, which cannot be read: those of one format count as identical. */
export function fingerprintOfAttachment({ header }: Pick<Item, 'header'>): Fingerprint {
  const format = text(header.attachment_type)
  return { key: `attachment ${format}`, title: `Attachment ${format}` }
}

function messageOf({ logentry, message }: Json): string {
  const entry = object(logentry ?? message)
  return messageText(entry.message) || messageText(entry.formatted) || messageText(message)
}

/** Returns the innermost frames of the app, the innermost last; of any code if none is marked as the app's. */
function framesOf(exceptions: readonly Json[], event: Json): readonly Json[] {
  const stacks = exceptions.map(({ stacktrace }) => framesAlike(objectsIn(object(stacktrace).frames), event))
  const frames = stacks.findLast((stack) => stack.length > 0) ?? []
  const ofApp = frames.filter(({ in_app: isOfApp }) => isOfApp === true)
  return (ofApp.length > 0 ? ofApp : frames).slice(-MAX_FRAMES)
}

/** Line and column tell the functions of a minified file apart. */
function describeFrame(frame: Json, event: Json): string {
  const { filename, abs_path, lineno, colno } = frame
  const file = fileNameOf(text(filename) || text(abs_path)).replace(NUMBERS, '#')
  return `${text(functionOf(frame, event))} ${file} ${number(lineno)} ${number(colno)}`
}

function titleOf(types: readonly string[], frame: Json | undefined): string {
  const name = types.join(', ') || 'Message'
  const place = frame && (text(frame.function) || fileNameOf(text(frame.filename)))
  return place ? `${name} in ${place}` : name
}

/** Returns the last part of a path or URL, without its query. */
function fileNameOf(path: string): string {
  const end = path.search(/[?#]/)
  const plain = end < 0 ? path : path.slice(0, end)
  return plain.slice(Math.max(plain.lastIndexOf('/'), plain.lastIndexOf('\\')) + 1)
}

function objectsIn(value: unknown): Json[] {
  return list(value).map(object)
}

function number(value: unknown): number {
  return typeof value === 'number' ? value : 0
}

/** Returns a message without its numbers. */
function messageText(value: unknown): string {
  return textOf(value).slice(0, MAX_MESSAGE).replace(NUMBERS, '#').slice(0, MAX_TEXT)
}

function text(value: unknown): string {
  return textOf(value).slice(0, MAX_TEXT)
}
