/** Shows what scrubbing would change in an envelope, with the settings of the tunnel. */

import { readFileSync } from 'node:fs'
import { diff } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { createRangeRemover } from '../tunnel/src/body/ranges.ts'
import { BadSettings, readConfig } from '../tunnel/src/config/config.ts'
import { DEFAULT_HEADER_LIMITS } from '../tunnel/src/envelope/headers.ts'
import type { Item } from '../tunnel/src/envelope/items.ts'
import { EnvelopeReader } from '../tunnel/src/envelope/reader.ts'
import { Scrubbing, type ScrubSettings } from '../tunnel/src/policy/scrub.ts'
import { Rejection } from '../tunnel/src/rejections.ts'
import { readEnvironment, runCommand, UserError } from './environment.ts'

const USAGE = `npm run policy -- try FILE
  prints what scrubbing would change in an envelope, as a diff without _meta, and what each rule finds. FILE is an envelope as the inbox
  has it. SCRUB, SCRUB_RULES and SCRUB_ATTACHMENTS apply; with SCRUB=off the command uses SCRUB=default.`

const DEFAULT: ScrubSettings = { level: 'default', mode: 'observe', attachments: 'pass', selected: [] }

/** Describes what the rules would change. Throws a `Rejection` for bytes that are no envelope. */
export function describeChanges(envelope: Buffer, settings: ScrubSettings): string {
  const hits = new Map<string, number>()
  const scrubbing = new Scrubbing(settings, (rule, _, count) => hits.set(rule, (hits.get(rule) ?? 0) + count))
  const keep = (type: string) => scrubbing.reads(type)
  const reader = new EnvelopeReader({ ...DEFAULT_HEADER_LIMITS, items: 1000, keep })
  reader.push(envelope)
  const items = reader.end().items.map((item) => describeItem(item, scrubbing))
  const counts = Array.from(hits, ([rule, count]) => `  ${rule}: ${count}`)
  return [...items, counts.length > 0 ? 'Found by rule:' : 'No rule finds anything.', ...counts].join('\n')
}

function describeItem(item: Item, scrubbing: Scrubbing): string {
  const result = scrubbing.scrub(item)
  if (!result) return `${item.type}: passes without scrubbing`
  if (typeof result === 'string') return `${item.type}: removed (${result})`
  if (result.edits.length === 0) return `${item.type}: unchanged`
  const payload = Buffer.concat(item.payload)
  const scrubbed = Buffer.concat(createRangeRemover(result.edits)(payload))
  return [`${item.type}:`, ...changedLines(linesOf(payload), linesOf(scrubbed))].join('\n')
}

/** Returns the lines of a payload, without its remarks. */
function linesOf(payload: Buffer): string[] {
  const withoutMeta = (key: string, value: unknown) => (key === '_meta' ? undefined : value)
  return JSON.stringify(JSON.parse(payload.toString()), withoutMeta, 2).split('\n')
}

function changedLines(before: readonly string[], after: readonly string[]): string[] {
  return diff(before, after) // 1: only in the first
    .filter(([operation]) => operation !== 0)
    .map(([operation, line]) => `${operation === 1 ? '-' : '+'} ${line}`)
}

function readSettings(): ScrubSettings {
  try {
    return readConfig(readEnvironment()).scrub ?? DEFAULT
  } catch (error) {
    if (error instanceof BadSettings) throw new UserError(error.message)
    throw error
  }
}

function readEnvelope(file: string): Buffer {
  try {
    const bytes = readFileSync(file)
    return bytes[0] === 0x1f ? gunzipSync(bytes) : bytes
  } catch (error) {
    throw new UserError(`${file} cannot be read: ${error instanceof Error ? error.message : error}`)
  }
}

if (import.meta.main) {
  const [command, file, ...rest] = process.argv.splice(2)
  if (command === '--help') process.argv.push(command)
  await runCommand({ name: 'npm run policy', usage: USAGE, flags: [] }, () => {
    if (command !== 'try' || file === undefined || rest.length > 0) throw new UserError(USAGE)
    try {
      console.log(describeChanges(readEnvelope(file), readSettings()))
    } catch (error) {
      if (error instanceof Rejection) throw new UserError(`${file} is not an envelope: ${error.code}`)
      throw error
    }
  })
}
