/** Worker thread that owns the inbox's SQLite file: a commit blocks, and another replica may keep the file locked. */

import { parentPort, workerData } from 'node:worker_threads'
import type { CallMessage, RequestMessage, ResultMessage } from '../spool/sqlite/threads/worker-client.ts'
import { INBOX_BOUNDS, Inbox } from './inbox.ts'
import { type InboxCalls, inboxCalls, type OpenedInbox } from './inbox-calls.ts'

const port = parentPort
if (!port) throw new Error('this file runs as a worker')

const file: string = workerData
const inbox = new Inbox(file, INBOX_BOUNDS, Date.now)
const calls: InboxCalls = inboxCalls(inbox)

port.on('message', async (request: RequestMessage) => {
  if (request === 'close') {
    inbox.close()
    port.close()
    return
  }
  for (const call of request) void respond(call)
})
port.postMessage({ id: inbox.id } satisfies OpenedInbox)

async function respond({ number, name, args }: CallMessage): Promise<void> {
  try {
    const method: (...given: unknown[]) => unknown = Reflect.get(calls, name)
    const value = await method(...args)
    send({ number, value })
  } catch (error) {
    send({ number, error: error instanceof Error ? error : new Error(String(error)) })
  }
}

function send(result: ResultMessage): void {
  const { value } = result
  port?.postMessage([result], value instanceof Uint8Array ? [value.buffer as ArrayBuffer] : [])
}
