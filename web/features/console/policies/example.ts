/** Example of what scrubbing would change, or why there is none. */

import type { PolicyStatus, ScrubExample } from 'contract/policies'

export type Example =
  | { state: 'off' | 'enforced' | 'no-inbox' }
  | { state: 'unchanged'; searched: number }
  | ({ state: 'found' } & Found)

export type Found = Required<Pick<ScrubExample, 'entry' | 'changes' | 'total'>>

/** Chooses the newest of the examples of all replicas, which may have different inboxes. */
export function readExample(
  { scrub }: Pick<PolicyStatus, 'scrub'>,
  examples: readonly ScrubExample[],
): Example {
  if (!scrub) return { state: 'off' }
  if (scrub.mode === 'enforce') return { state: 'enforced' }
  if (examples.length === 0) return { state: 'no-inbox' }
  const found = examples.flatMap(({ entry, changes, total }) => (entry ? [{ entry, changes, total }] : []))
  const [newest] = found.sort((a, b) => b.entry.time - a.entry.time)
  if (newest) return { state: 'found', ...newest }
  return { state: 'unchanged', searched: Math.max(...examples.map(({ searched }) => searched)) }
}
