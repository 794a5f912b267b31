/** Keys of envelopes in the store. */

import { createHash } from 'node:crypto'

/** Returns the first 16 bytes of SHA-256 over upstream and body, in hex. Many envelopes have no `event_id`. */
export async function identify(
  upstream: string,
  body: Buffer | Iterable<Buffer> | AsyncIterable<Buffer>,
): Promise<string> {
  const hash = createHash('sha256').update(`${upstream}\n`)
  if (Buffer.isBuffer(body)) hash.update(body)
  else for await (const chunk of body) hash.update(chunk)
  return hash.digest('hex').slice(0, 32)
}

/** Returns the key of an envelope in the inbox, where a person sees equal ones each. */
export function identifyReceipt(receipt: string): string {
  return createHash('sha256').update(receipt).digest('hex').slice(0, 32)
}
