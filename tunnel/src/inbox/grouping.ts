/** Groups of events with the same cause: the same exception in the same place, whatever numbers its message contains. */

import { createHash } from 'node:crypto'
import { messageOf, valuesOf } from 'contract/event-fields'
import { type Json, list, object, scalarText as text } from 'contract/json'
import { framesAlike, functionOf } from '../envelope/stack-frames.ts'

const MAX_FRAMES = 5 // of the app, nearest to the error
const MAX_FINGERPRINT = 20 // parts
const PATTERN_LENGTH = 300
const ID_LENGTH = 16

/** Part of a fingerprint that stands for the group that it would otherwise have. */
const DEFAULT_PART = /^\{\{\s*default\s*\}\}$/

/** Returns the ID of the group of an event: by the fingerprint of its SDK, else by exception type, frames of the app and message. */
export function groupOfEvent(event: Json): string {
  const own = defaultParts(event)
  const fingerprint = list(event.fingerprint).slice(0, MAX_FINGERPRINT).map(text).filter(Boolean)
  return fingerprint.length === 0
    ? groupId(own)
    : groupId(fingerprint.flatMap((part) => (DEFAULT_PART.test(part) ? own : part)))
}

/** Returns the ID of a group. Equal parts give equal IDs. */
export function groupId(parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, ID_LENGTH)
}

/** Replaces what differs between two reports of one error: IDs, addresses and numbers. */
export function patternOf(message: string): string {
  return message
    .slice(0, 2 * PATTERN_LENGTH)
    .replaceAll(/\b(?:0x)?(?=[a-f-]*\d)[\da-f][\da-f-]{7,}\b/gi, '#')
    .replaceAll(/\d+(?:[.,:]\d+)*/g, '#')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .slice(0, PATTERN_LENGTH)
}

function defaultParts(event: Json): string[] {
  const exceptions = valuesOf(event.exception)
  const raised = exceptions.at(-1)
  if (!raised) return ['message', text(event.level), patternOf(messageOf(event))]
  const frames = framesOf(raised, event)
  return ['exception', text(raised.type), ...frames, patternOf(text(raised.value))]
}

/** Returns function and file of the frames nearest to the error. Lines and hashes in file names change with each build. */
function framesOf(exception: Json, event: Json): string[] {
  const all = framesAlike(list(object(exception.stacktrace).frames).map(object), event)
  const own = all.filter((frame) => frame.in_app !== false)
  return (own.length > 0 ? own : all).slice(-MAX_FRAMES).map((frame) => {
    const file = text(frame.module) || text(frame.filename) || text(frame.abs_path)
    return `${functionOf(frame, event).slice(0, PATTERN_LENGTH)} in ${patternOf(file.replace(/[?#].*$/s, ''))}`
  })
}
