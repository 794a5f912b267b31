/** Prints what the inbox holds, newest first; with an id, that envelope as it came. */

import { existsSync } from 'node:fs'
import type { InboxEntry } from './contract.ts'
import { INBOX_BOUNDS, type Inbox, openInbox } from './inbox.ts'

const LISTED = 50
const USAGE = `npm run inbox           lists what the inbox holds, the newest ${LISTED} of it
npm run inbox -- ID     prints one of them as it came
`
const NOT_THERE = 'No envelope of this id is in the inbox (any more).\n'

const file = process.env.INBOX_FILE || '.culvert/inbox.db'
const [id, ...more] = process.argv.slice(2)
if (id === '--help' || id === '-h') process.stdout.write(USAGE)
else if (id?.startsWith('-') || more.length > 0) refuse(USAGE)
else if (existsSync(file)) show(openInbox(file, INBOX_BOUNDS, Date.now))
else if (id === undefined) tellNothing()
else refuse(NOT_THERE)

function show(inbox: Inbox): void {
  const entries = id === undefined ? inbox.list(LISTED).entries : []
  if (id !== undefined) showOne(inbox, id)
  else if (entries.length === 0) tellNothing()
  else for (const entry of entries) tell(`${lineOf(entry)}  ${headline(inbox, entry)}`)
  inbox.close()
}

function showOne(inbox: Inbox, id: string): void {
  const envelope = inbox.read(id)
  if (envelope) process.stdout.write(envelope)
  else refuse(NOT_THERE)
}

function lineOf({ id, time, bytes, types }: InboxEntry): string {
  return `${new Date(time).toISOString()}  ${id}  ${types.join(', ')}  ${bytes} bytes`
}

/** The first exception, for whoever looks for the error they have just raised. */
function headline(inbox: Inbox, { id }: InboxEntry): string {
  const text = inbox.read(id)?.toString() ?? ''
  const [, type, value] =
    /"exception":\{"values":\[\{"type":("[^"]*"),"value":("(?:[^"\\]|\\.)*")/.exec(text) ?? []
  return type === undefined || value === undefined ? '' : `${unquote(type)}: ${unquote(value)}`
}

/** On one line, and nothing in it that a terminal would obey: anyone may have written it. */
function unquote(literal: string): string {
  return parse(literal).replace(/[\s\p{Cc}]+/gu, ' ')
}

function parse(literal: string): string {
  try {
    return String(JSON.parse(literal))
  } catch {
    return literal
  }
}

function tellNothing(): void {
  tell(
    `The inbox ${file} is empty: nothing has arrived yet, or it is off (with SENTRY_DSN it wants INBOX=on). That of containers is read while they run.`,
  )
}

function refuse(words: string): void {
  process.stderr.write(words)
  process.exitCode = 1
}

function tell(line: string): void {
  process.stdout.write(`${line}\n`)
}
