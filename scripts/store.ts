/** Lists what the store holds, finds an event, and sends dead letters and kept envelopes again, through a tunnel's admin port. */

import { parseArgs } from 'node:util'
import type { Receipt, SpoolOutcome } from 'contract/admin-api'
import { INBOX } from 'contract/dsn'
import {
  ENTRY_STATES,
  RESENDABLE_STATES,
  type ResendJob,
  type ResendStarted,
  type ResendStatus,
  type StoreEntry,
  type StoreErased,
  type StoreEvent,
  type StorePage,
} from 'contract/store'
import { type AdminAccess, readAccess, UsageError } from '../doctor/options.ts'
import { type HttpResponse, NoResponse, send } from '../doctor/request.ts'
import { explain, readEnvironment, UserError, withKeptPassword } from './environment.ts'
import { drain } from './store/drain.ts'

const USAGE = `npm run store -- list [--state ${ENTRY_STATES.join('|')}] [selection] [--limit N] [--after NEXT] [--json]
npm run store -- find EVENT_ID [--json]
npm run store -- resend --state ${RESENDABLE_STATES.join('|')} [selection] [--limit N] [--dry-run]
npm run store -- resend --id ID [--dry-run]
npm run store -- erase --user TEXT [--dry-run]
npm run store -- status | stop [--json]
npm run store -- drain SPOOL_URL
list and find show pending envelopes, dead letters and kept envelopes. resend sends envelopes again: status shows its progress, and stop ends it.
erase removes the envelopes of one user from the store. drain delivers the pending envelopes of a former spool.
[selection] is any of --project, --event, --from and --to; without it, all envelopes of the state.
  --project NAME         host/project as in the console, or a DSN
  --event ID             event ID
  --from, --to TIME      end of the delivery, as 2026-11-26T00:00Z, or in milliseconds since 1970
  --user TEXT            ID, email address, name or IP address of a user, as the SDK reports it
  --dry-run              only counts
  --admin URL            admin port of a tunnel, like http://127.0.0.1:9091; may be repeated, and find asks all of them.
                         Without it, the tunnels that npm start or Compose runs here
  --password-file FILE   file with the value of OPERATOR_PASSWORD. Without it and --token-file, the settings are used
  --token-file FILE      file with the admin token instead, where ADMIN_TOKEN is set`

const OPTIONS = {
  state: { type: 'string' },
  project: { type: 'string' },
  event: { type: 'string' },
  id: { type: 'string' },
  user: { type: 'string' },
  from: { type: 'string' },
  to: { type: 'string' },
  limit: { type: 'string' },
  after: { type: 'string' },
  'dry-run': { type: 'boolean' },
  json: { type: 'boolean' },
  admin: { type: 'string', multiple: true },
  'password-file': { type: 'string' },
  'token-file': { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const

const ID = /^\d{1,15}-[0-9a-f]{32}$/

type Flags = ReturnType<typeof parse>['values']

/** Any of the tunnels answers for the store; receipts are those of one tunnel. */
type Admin = AdminAccess

async function run(args: string[]): Promise<void> {
  const { values, positionals } = parse(args)
  const [command, argument, ...rest] = positionals
  if (values.help) return console.log(USAGE)
  if (rest.length > 0 || (argument !== undefined && command !== 'find' && command !== 'drain'))
    throw new UserError(`"${rest[0] ?? argument}" is not expected here.\n${USAGE}`)
  if (command === 'list') return list(openAdmin(values), values)
  if (command === 'find' && argument !== undefined) return find(openAdmin(values), argument, values)
  if (command === 'drain' && argument !== undefined) return drain(argument)
  if (command === 'resend') return resend(openAdmin(values), values)
  if (command === 'erase') return erase(openAdmin(values), values)
  if (command === 'status')
    return showStatus(await ask<ResendStatus>(openAdmin(values), 'GET', '/store/resend'), values)
  if (command === 'stop')
    return showStatus(await ask<ResendStatus>(openAdmin(values), 'DELETE', '/store/resend'), values)
  throw new UserError(`name list, find EVENT_ID, resend, erase, status, stop or drain SPOOL_URL.\n${USAGE}`)
}

async function list(admin: Admin, flags: Flags): Promise<void> {
  const { state, after } = flags
  const limit = readLimit(flags)
  const query = new URLSearchParams({
    ...{ ...(state !== undefined && { state }), ...selectionOf(flags) },
    ...(limit !== undefined && { limit }),
    ...(after !== undefined && { after }),
  })
  const page = await ask<StorePage>(admin, 'GET', `/store/entries?${query}`)
  if (flags.json) return console.log(JSON.stringify(page, undefined, 2))
  for (const entry of page.entries) console.log(describe(entry))
  if (page.entries.length === 0) console.log('There are none.')
  if (page.next !== undefined) console.log(`More: add --after ${page.next}`)
}

/** Asks every tunnel, since each one has receipts of its own. */
async function find(admin: Admin, eventId: string, { json }: Flags): Promise<void> {
  const found = await Promise.all(
    admin.urls.map((url) => ask<StoreEvent>({ ...admin, urls: [url] }, 'GET', `/store/events/${eventId}`)),
  )
  const receipts = found.flatMap((each) => each.receipts)
  const outcomes = found.flatMap((each) => each.final_outcomes)
  const entries = found[0]?.entries ?? []
  const since = Math.max(...found.map((each) => each.receipts_since))
  if (json)
    return console.log(
      JSON.stringify({ receipts, final_outcomes: outcomes, entries, receipts_since: since }, undefined, 2),
    )
  for (const receipt of receipts) console.log(describeReceipt(receipt))
  for (const outcome of outcomes) console.log(describeOutcome(outcome))
  for (const entry of entries) console.log(describe(entry))
  if (receipts.length + outcomes.length + entries.length === 0)
    console.log(
      `No tunnel has seen it since ${timeOf(since)}, and the store does not have it. Envelopes that were delivered before that time are no longer listed.`,
    )
}

async function resend(admin: Admin, flags: Flags): Promise<void> {
  const { id, state, 'dry-run': isDry = false } = flags
  checkResent(id, state)
  const limit = readLimit(flags)
  const { from, to, ...selection } = selectionOf(flags)
  const order = {
    ...{ ...(id !== undefined && { id }), ...(state !== undefined && { state }), ...selection },
    ...{ ...(from !== undefined && { from: Number(from) }), ...(to !== undefined && { to: Number(to) }) },
    ...(limit !== undefined && { limit: Number(limit) }),
    ...(isDry && { dry_run: true }),
  }
  const started = await ask<ResendStarted>(admin, 'POST', '/store/resend', order)
  const { entries, bytes, skipped, undeliverable } = started
  const isOne = entries === 1
  const many = `${entries} ${isOne ? 'envelope' : 'envelopes'} (${sizeOf(bytes)})`
  if (entries === 0)
    console.log(`No ${skipped + undeliverable > 0 ? 'other ' : ''}envelope matches. Nothing was sent.`)
  else if (isDry) console.log(`${many} ${isOne ? 'matches' : 'match'}. Nothing was sent.`)
  else if (id !== undefined) console.log('It is pending again.')
  else
    console.log(
      `${many} ${isOne ? 'is' : 'are'} being sent again. npm run store -- status shows the progress, and stop ends it.`,
    )
  if (skipped > 0)
    console.log(
      `${skipped} left out: sent again within the last hour. Repeat the command an hour later, or send one of them again now with --id.`,
    )
  if (undeliverable > 0)
    console.log(
      `${undeliverable} left out: no configured project or mirror takes them. Add their DSN to SENTRY_DSN or MIRROR_DSN first.`,
    )
}

/** Searches the store step by step, so that no request takes long. */
async function erase(admin: Admin, { user, 'dry-run': isDry = false }: Flags): Promise<void> {
  if (!user?.trim()) throw new UserError('erase needs --user with an ID, email address, name or IP address.')
  const sum = { searched: 0, matched: 0, erased: 0, unread: 0 }
  let after: string | undefined
  do {
    const order = { user, ...(isDry && { dry_run: true }), ...(after !== undefined && { after }) }
    const step = await ask<StoreErased>(admin, 'POST', '/store/erase', order)
    for (const name of ['searched', 'matched', 'erased', 'unread'] as const) sum[name] += step[name]
    after = step.next
  } while (after !== undefined)
  const { searched, matched, erased, unread } = sum
  console.log(
    isDry
      ? `${matched} of ${searched} envelopes name this user. Nothing was removed.`
      : `${erased} of ${searched} envelopes were removed.`,
  )
  if (unread > 0)
    console.log(
      `${unread} could be searched only in part, since they hold an item that is not JSON or too large.`,
    )
}

function checkResent(id: string | undefined, state: string | undefined): void {
  if (id !== undefined && state !== undefined)
    throw new UserError('--id and --state exclude each other: --id sends one envelope again, --state many.')
  if (id === undefined && state === undefined)
    throw new UserError(`resend needs --state with one of ${RESENDABLE_STATES.join(', ')}, or --id.`)
  if (id !== undefined && !ID.test(id))
    throw new UserError(`--id: "${id}" is not the ID of an envelope; npm run store -- list shows them.`)
  if (state === 'evicted')
    throw new UserError('--state: evicted envelopes cannot be sent again, since only a line is left of each.')
  if (state === 'pending')
    throw new UserError('--state: pending envelopes are on their way already, and are sent without a resend.')
}

function showStatus(status: ResendStatus, { json }: Flags): void {
  if (json) console.log(JSON.stringify(status, undefined, 2))
  else console.log(status.job ? describeJob(status.job) : 'No envelopes were sent again yet.')
}

function describeJob(job: ResendJob): string {
  const { entries, sent, bytes_sent: bytes, per_second: rate, waiting, started, stopped, finished } = job
  const progress = `${sent} of ${entries} envelopes (${sizeOf(bytes)}) sent again since ${timeOf(started)}`
  if (finished !== undefined) return `${progress}; finished at ${timeOf(finished)}.`
  if (stopped !== undefined) return `${progress}; stopped at ${timeOf(stopped)}.`
  const left = rate > 0 ? `, about ${Math.ceil((entries - sent) / rate)} s left` : ''
  return `${progress}, ${rate} a second${left}${waiting === undefined ? '' : `; it waits: ${waiting}`}.`
}

function describe({ id, state, ended, received, project, category, bytes, ...entry }: StoreEntry): string {
  const { event_id: eventId, due, status, answer, stored, resent } = entry
  return [
    ...[timeOf(ended ?? received), state.padEnd(8), project, category, sizeOf(bytes), id],
    ...(eventId === undefined ? [] : [`event ${eventId}`]),
    ...(due === undefined ? [] : [`next attempt ${timeOf(due)}`]),
    ...(resent === undefined ? [] : [`sent again ${timeOf(resent)}`]),
    ...(stored ? [] : ['only this line is left']),
    ...(status === undefined ? [] : [`${serverOf(project)}: ${status}`]),
    ...(answer === undefined ? [] : [printable(answer)]),
  ].join('  ')
}

/** Describes a receipt. The sender of a spooled envelope gets a 200 of the tunnel, whatever the server has answered. */
function describeReceipt({ time, outcome, reason, project, status, replica, ...receipt }: Receipt): string {
  const { upstream_status: upstream, upstream_error: error, upstream_message: message } = receipt
  const why = reason === undefined ? '' : ` (${reason})`
  const answer = upstream ?? error
  return [
    ...[timeOf(time), `${outcome}${why}`, project ?? 'no known project', `response to the sender: ${status}`],
    ...(answer === undefined || project === undefined ? [] : [`${serverOf(project)}: ${answer}`]),
    ...(message === undefined ? [] : [printable(message)]),
    replica,
  ].join('  ')
}

function describeOutcome({ time, project, replica, ...outcome }: SpoolOutcome): string {
  const { final_outcome: end, reason, upstream_status: status, upstream_message: message } = outcome
  const why = reason === undefined ? '' : ` (${reason})`
  return [
    ...[timeOf(time), `${end}${why}`, project],
    ...(status === undefined ? [] : [`${serverOf(project)}: ${status}`]),
    ...(message === undefined ? [] : [printable(message)]),
    replica,
  ].join('  ')
}

/** Names the server that has answered: without a DSN, the inbox. */
function serverOf(project: string): string {
  return project === `${INBOX.host}/${INBOX.projectId}` ? 'inbox' : 'Sentry'
}

/** Returns an answer of a server as one line without control characters. */
function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim()
}

function timeOf(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`
}

function sizeOf(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`
  return bytes < 1024 * 1024 ? `${Math.round(bytes / 1024)} KiB` : `${(bytes / 1024 / 1024).toFixed(1)} MiB`
}

function selectionOf({ project, event, ...flags }: Flags): Record<string, string> {
  const from = flags.from === undefined ? undefined : readTime('from', flags.from)
  const to = flags.to === undefined ? undefined : readTime('to', flags.to)
  if (Number(from) > Number(to)) throw new UserError('--from is later than --to.')
  return {
    ...(project !== undefined && { project }),
    ...(event !== undefined && { event_id: event }),
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
  }
}

function readLimit({ limit }: Flags): string | undefined {
  if (limit === undefined || /^[1-9]\d{0,7}$/.test(limit)) return limit
  throw new UserError(`--limit: "${limit}" is not a whole number from 1.`)
}

/** Reads milliseconds, or a date with its time zone: one without would mean another time on each machine. */
function readTime(flag: string, text: string): string {
  if (/^\d{1,15}$/.test(text)) return text
  const time = /^\d{4}-\d\d-\d\d(T.*(Z|[+-]\d\d:?\d\d))?$/.test(text) ? Date.parse(text) : Number.NaN
  if (!Number.isNaN(time)) return String(time)
  throw new UserError(
    `--${flag}: "${text}" is not a time; write one like 2026-11-26T00:00Z, or milliseconds since 1970.`,
  )
}

/** Sends a request to the first tunnel that responds. Throws a `UserError` with the detail of an error. */
async function ask<T>(admin: Admin, method: string, path: string, body?: object): Promise<T> {
  const json = body && Buffer.from(JSON.stringify(body))
  const headers = {
    authorization: `Bearer ${admin.token}`,
    ...(json && { 'content-type': 'application/json', 'content-length': `${json.length}` }),
  }
  let missing = ''
  for (const url of admin.urls) {
    const response: HttpResponse | NoResponse = await send(`${url}${path}`, {
      ...{ method, headers },
      ...(json && { body: json }),
    }).catch((error) => {
      if (error instanceof NoResponse) return error
      throw error
    })
    if (response instanceof NoResponse) missing = response.message
    else if (response.status === 200) return JSON.parse(response.text)
    else if (response.status === 401)
      throw new UserError(
        `${url} responds with 401: the password or token is wrong. Check --password-file or --token-file, or OPERATOR_PASSWORD in the settings.`,
      )
    else throw new UserError(`${url} responds with ${response.status}: ${detailOf(response)}`)
  }
  throw new UserError(missing)
}

/** Commands of the requests that the admin API names in its sentences. */
const COMMANDS: readonly [request: string, command: string][] = [
  ['DELETE /store/resend', 'npm run store -- stop'],
  ['GET /store/entries', 'npm run store -- list'],
]

function detailOf({ text }: HttpResponse): string {
  try {
    const detail: string = JSON.parse(text).detail ?? text
    return COMMANDS.reduce((sentence, [request, command]) => sentence.replace(request, command), detail)
  } catch {
    return 'it is not an admin port.'
  }
}

const openAdmin = (flags: Flags): Admin => readAccess(flags, withKeptPassword(readEnvironment()))

function parse(args: string[]) {
  try {
    return parseArgs({ args, allowPositionals: true, options: OPTIONS })
  } catch (error) {
    throw new UserError(`${(error as Error).message}\n${USAGE}`)
  }
}

await run(process.argv.slice(2)).catch((error) =>
  explain(error instanceof UsageError ? new UserError(error.message) : error),
)
