/** Builds envelopes for a spool. */

import { identify } from '../../../tunnel/src/envelope/dedupe-key.ts'
import { priorityOf } from '../../../tunnel/src/envelope/priorities.ts'
import type { ProjectDemand, SpoolBody, SpoolBounds, SpoolEntry } from '../../../tunnel/src/pipeline/spool.ts'

export const PROJECT = 'https://0123456789abcdef0123456789abcdef@sentry.example/456'
export const OTHER_PROJECT = 'https://0123456789abcdef0123456789abcdef@sentry.example/457'
/** Bounds that no test reaches. */
export const PLENTY: SpoolBounds = { bytes: 8 * 1024 ** 3, addressShare: 1, projectShare: 1 }
export const ENVELOPE_BYTES = 3_300 // bytes of an ordinary error
export const LARGE_BYTES = 1_200_000 // bytes of a body that is stored as a file
export const LARGE_EVERY = 50 // one in 50
export const LONG_MS = 60_000 // longer than any test
export const ALL: readonly ProjectDemand[] = [PROJECT, OTHER_PROJECT].map((project) => ({
  project,
  rateLimitedCategories: [],
}))

const RECENT = Date.now() - 60_000
let made = 0

/** Builds an entry that was received 1 ms after the one before it, an error unless `parts` say otherwise. */
export async function spoolEntryOf(body: Buffer, parts: Partial<SpoolEntry> = {}): Promise<SpoolEntry> {
  const { project = PROJECT, category = 'error' } = parts
  return {
    key: await identify(project, body),
    project,
    category,
    priority: priorityOf(category),
    network: '',
    received: RECENT + made,
    bytes: body.length,
    receipt: `test-${made++}`,
    headers: ['user-agent', 'Mozilla/5.0 (tests)', 'referer', 'https://shop.example/'],
    ...parts,
  }
}

/** Returns the body as one chunk. */
export function inOne(bytes: Buffer): SpoolBody {
  return { chunks: () => [bytes] }
}
