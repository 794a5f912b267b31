/** Lists the inbox, newest first; with an id, prints that envelope. Nothing printed can act on a terminal, except with `--raw`. */

import { existsSync } from 'node:fs'
import type { InboxEntry } from '../contract.ts'
import { INBOX_BOUNDS, type Inbox, openInbox } from './inbox.ts'

const LISTED = 50
const USAGE = `npm run inbox           lists what the inbox holds, the newest ${LISTED} of it
npm run inbox -- ID     prints one of them, with control characters escaped
npm run inbox -- ID --raw > FILE
                        writes its bytes unmodified, which are a stranger's: not for a terminal
`
const NOT_THERE = 'No envelope of this id is in the inbox (any more).\n'

/** Bytes of an envelope that are searched for its first exception. */
const HEADLINE_BYTES = 256 * 1024 // 256 KiB
const LONGEST_LINE = 500 // characters of a line of the list

const file = process.env.INBOX_FILE || '.culvert/inbox.db'
const given = process.argv.slice(2)
const isRaw = given.includes('--raw')
const [id, ...more] = given.filter((argument) => argument !== '--raw')
if (id === '--help' || id === '-h') process.stdout.write(USAGE)
else if (id?.startsWith('-') || more.length > 0 || (isRaw && id === undefined)) refuse(USAGE)
else if (existsSync(file)) show(openInbox(file, INBOX_BOUNDS, Date.now))
else if (id === undefined) tellNothing()
else refuse(NOT_THERE)

function show(inbox: Inbox): void {
  const entries = id === undefined ? inbox.list(LISTED).entries : []
  if (id !== undefined) showOne(inbox, id)
  else if (entries.length === 0) tellNothing()
  else for (const entry of entries) tell(escapeControls(`${lineOf(entry)}  ${headline(inbox, entry)}`))
  inbox.close()
}

function showOne(inbox: Inbox, id: string): void {
  const envelope = inbox.read(id)
  if (!envelope) refuse(NOT_THERE)
  else if (isRaw) process.stdout.write(envelope)
  else for (const line of envelope.toString().replace(/\n$/, '').split('\n')) tell(escapeControls(line))
}

function lineOf({ id, time, bytes, types }: InboxEntry): string {
  return `${new Date(time).toISOString()}  ${id}  ${cut(types.join(', '))}  ${bytes} bytes`
}

/** The first exception, for whoever looks for the error they have just raised. */
function headline(inbox: Inbox, { id }: InboxEntry): string {
  const text = inbox.read(id, HEADLINE_BYTES)?.toString() ?? ''
  const [, type, value] =
    /"exception":\{"values":\[\{"type":("[^"]*"),"value":("(?:[^"\\]|\\.)*")/.exec(text) ?? []
  return type === undefined || value === undefined ? '' : cut(`${unquote(type)}: ${unquote(value)}`)
}

/** Returns the text of a JSON string on one line. */
function unquote(literal: string): string {
  return parse(literal).replace(/\s+/g, ' ')
}

function cut(text: string): string {
  return text.length > LONGEST_LINE ? `${text.slice(0, LONGEST_LINE)}…` : text
}

/**
 * Writes characters that a terminal obeys, or that reorder or hide others, as `\u{1b}`: C0 and C1 controls, bidirectional and other
 * format characters, line separators.
 */
function escapeControls(line: string): string {
  return line.replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  )
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
