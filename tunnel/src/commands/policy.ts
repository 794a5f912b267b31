/** Command that shows the effect of the policies on an envelope: `node tunnel/src/commands/policy.ts try FILE`. */

import { existsSync, readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { object } from 'contract/json'
import { Rejection } from 'contract/rejections'
import { readConfigOrExit } from '../config/startup-errors.ts'
import { groupOf } from '../envelope/grouping.ts'
import { parsePayload } from '../envelope/payload.ts'
import { quotaQuantitiesOf } from '../policy/quota/quotas.ts'
import { describeChange, type Preview, previewEnvelope, readItems } from '../policy/scrub/preview.ts'
import { Scrubbing, type ScrubSettings } from '../policy/scrub/scrub.ts'

const USAGE = `npm run policy -- try FILE
  prints the values that scrubbing would change in an envelope, what each rule finds, what the envelope counts for quotas,
  and the group of its error in the inbox and for storm protection. FILE is an envelope, for example a download from the inbox. SCRUB and SCRUB_RULES
  apply; with SCRUB=off the command uses SCRUB=default.
  In a container: docker compose exec tunnel node tunnel/src/commands/policy.ts try FILE`

const DEFAULT: ScrubSettings = {
  level: 'default',
  mode: 'observe',
  attachments: 'pass',
  selected: [],
  users: { kind: 'remove' },
}

/** Describes the changes by scrubbing rules. Throws a `Rejection` for bytes that are no envelope. */
export function describeChanges(envelope: Buffer, settings: ScrubSettings): string {
  const hits = new Map<string, number>()
  const scrubbing = new Scrubbing(settings, (rule, _, count) => hits.set(rule, (hits.get(rule) ?? 0) + count))
  const items = previewEnvelope(envelope, scrubbing).map(describeItem)
  const counts = Array.from(hits, ([rule, count]) => `  ${rule}: ${count}`)
  return [...items, counts.length > 0 ? 'Found by rule:' : 'No rule finds anything.', ...counts].join('\n')
}

/** Describes the amounts that an envelope adds to quotas, and its errors as storm protection counts them. */
export function describeCounts(envelope: Buffer): string {
  const items = readItems(envelope, () => true)
  const sums = new Map<string, number>()
  for (const { category, quantity } of items.flatMap(quotaQuantitiesOf))
    sums.set(category, (sums.get(category) ?? 0) + quantity)
  const counts = Array.from(sums, ([category, sum]) => `${category} ${sum}`).join(', ') || 'nothing'
  const errors = items
    .filter(({ type }) => type === 'event')
    .map(({ payload }) => groupOf(object(parsePayload(Buffer.concat(payload)))))
    .map((found) => (found ? `${found.id} (${found.title})` : 'none: neither an exception nor a message'))
  return [
    `Counts for quotas: ${counts}`,
    ...errors.map((error) => `Group in the inbox and for storms: ${error}`),
  ].join('\n')
}

function describeItem({ item, result }: Preview): string {
  if (!result) return `${item.type}: passes without scrubbing`
  if (typeof result === 'string') return `${item.type}: removed (${result})`
  if (result.changes.length === 0) return `${item.type}: unchanged`
  const lines = result.changes.map((change) => {
    const { path, before, after, rule } = describeChange(item, change)
    return `  ${path}: ${before} -> ${after} (${rule})`
  })
  return [`${item.type}:`, ...lines].join('\n')
}

function readEnvelope(file: string): Buffer {
  const bytes = readFileSync(file)
  return bytes[0] === 0x1f ? gunzipSync(bytes) : bytes
}

function describeFile(file: string): CommandResult {
  try {
    const envelope = readEnvelope(file)
    if (existsSync('.env')) process.loadEnvFile('.env')
    const { scrub = DEFAULT } = readConfigOrExit(process.env)
    return { exitCode: 0, text: `${describeChanges(envelope, scrub)}\n${describeCounts(envelope)}` }
  } catch (error) {
    if (error instanceof Rejection)
      return { exitCode: 1, text: `culvert: ${file} is not an envelope (${error.code})` }
    if (error instanceof Error && 'code' in error)
      return { exitCode: 1, text: `culvert: ${file} cannot be read (${error.message})` }
    throw error
  }
}

type CommandResult = { exitCode: number; text: string }

/** Runs the command. Ends the process if a setting is wrong. */
export function runPolicyCommand([command, file, ...rest]: readonly string[]): CommandResult {
  if (command === 'try' && file !== undefined && rest.length === 0) return describeFile(file)
  return { exitCode: command === '--help' ? 0 : 1, text: USAGE }
}

if (import.meta.main) {
  const { exitCode, text } = runPolicyCommand(process.argv.slice(2))
  process.exitCode = exitCode
  process.stdout.write(`${text}\n`)
}
