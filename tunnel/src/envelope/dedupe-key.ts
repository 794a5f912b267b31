/** What an envelope is known by: its bytes, and where they go. */

import { createHash } from 'node:crypto'

/** The first 16 bytes of SHA-256 over upstream and body, in hex (`DESIGN.md` §3). `event_id` would not do: many have none. */
export async function identify(
  upstream: string,
  body: Buffer | Iterable<Buffer> | AsyncIterable<Buffer>,
): Promise<string> {
  const hash = createHash('sha256').update(`${upstream}\n`)
  if (Buffer.isBuffer(body)) hash.update(body)
  else for await (const chunk of body) hash.update(chunk)
  return hash.digest('hex').slice(0, 32)
}
