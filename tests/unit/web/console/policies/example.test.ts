/** Example of scrubbing on the page of the policies. */

import { describe, expect, it } from 'vitest'
import type { ScrubExample } from '../../../../../contract/policies.ts'
import { readExample } from '../../../../../web/features/console/policies/policies.ts'

const OBSERVED = { scrub: { level: 'default', mode: 'observe' } } as const
const none = (searched: number): ScrubExample => ({ searched, changes: [], total: 0 })
const found = (id: string, time: number): ScrubExample => ({
  searched: 1,
  entry: { id, time, title: id },
  changes: [
    { item: 'event', path: 'message', before: 'a@b.example', after: '[email]', rule: '@email:replace' },
  ],
  total: 1,
})

describe('readExample', () => {
  it('says why there is no example', () => {
    const enforced = { scrub: { level: 'default', mode: 'enforce' } } as const
    expect([readExample({}, []), readExample(enforced, []), readExample(OBSERVED, [])]).toEqual([
      { state: 'off' },
      { state: 'enforced' },
      { state: 'no-inbox' },
    ])
  })

  it('says how many envelopes were searched', () => {
    expect(readExample(OBSERVED, [none(3), none(50)])).toEqual({ state: 'unchanged', searched: 50 })
  })

  it('chooses the newest example of replicas with different inboxes', () => {
    const { searched: _, ...newest } = found('b', 2)
    expect(readExample(OBSERVED, [found('a', 1), none(50), found('b', 2)])).toEqual({
      state: 'found',
      ...newest,
    })
  })
})
