/** Worker thread that uploads large bodies. It posts the number of responses by status. */

import { once } from 'node:events'
import { Readable } from 'node:stream'
import { parentPort } from 'node:worker_threads'
import { Agent, request } from 'undici'

export type Uploads = { url: string; dsn: string; count: number; bytes: number }

const CHUNK = Buffer.alloc(64 * 1024, 'culvert ')

if (!parentPort) throw new Error('this is for a worker thread')
const [uploads]: Uploads[] = await once(parentPort, 'message')
if (uploads) parentPort.postMessage(await uploadAll(uploads))

/** Uploads in parallel, and returns the number of responses by status. */
async function uploadAll({ url, dsn, count, bytes }: Uploads): Promise<Record<string, number>> {
  const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0 })
  const statuses: Record<string, number> = {}
  const upload = async (_: unknown, n: number): Promise<void> => {
    const event_id = n.toString(16).padStart(32, '0')
    const head = Buffer.from(
      `${JSON.stringify({ event_id, dsn })}\n{"type":"attachment","length":${bytes}}\n`,
    )
    const body = Readable.from(contentOf(head, bytes), { objectMode: false })
    const headers = { 'content-length': String(head.length + bytes) }
    const response = await request(`${url}/monitoring`, { method: 'POST', headers, body, dispatcher })
    await response.body.dump()
    statuses[response.statusCode] = (statuses[response.statusCode] ?? 0) + 1
  }
  await Promise.all(Array.from({ length: count }, upload))
  await dispatcher.close()
  return statuses
}

function* contentOf(head: Buffer, bytes: number): Generator<Buffer> {
  yield head
  for (let left = bytes; left > 0; left -= CHUNK.length) yield CHUNK.subarray(0, left)
}
