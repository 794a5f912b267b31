/** Prints what the inbox holds, newest first; with an id, that envelope as it came. */

import { existsSync } from 'node:fs'
import type { InboxEntry } from './contract.ts'
import { INBOX_BOUNDS, type Inbox, openInbox } from './inbox.ts'

const LISTED = 50

const file = process.env.INBOX_FILE || '.culvert/inbox.db'
const [id] = process.argv.slice(2)
if (!existsSync(file)) tell('The inbox is empty: nothing has arrived yet.')
else show(openInbox(file, INBOX_BOUNDS, Date.now))

function show(inbox: Inbox): void {
  const entries = id === undefined ? inbox.list(LISTED) : []
  if (id !== undefined)
    process.stdout.write(inbox.read(id) ?? 'No envelope of this id is in the inbox (any more).\n')
  else if (entries.length === 0) tell('The inbox is empty: nothing has arrived yet.')
  else for (const entry of entries) tell(`${lineOf(entry)}  ${headline(inbox, entry)}`)
  inbox.close()
}

function lineOf({ id, time, bytes, types }: InboxEntry): string {
  return `${new Date(time).toISOString()}  ${id}  ${types.join(', ')}  ${bytes} bytes`
}

/** The first exception, for whoever looks for the error they have just raised. */
function headline(inbox: Inbox, { id }: InboxEntry): string {
  const text = inbox.read(id)?.toString() ?? ''
  const [, type, value] = /"exception":\{"values":\[\{"type":"([^"]*)","value":"([^"]*)"/.exec(text) ?? []
  return type === undefined ? '' : `${type}: ${value}`
}

function tell(line: string): void {
  process.stdout.write(`${line}\n`)
}
