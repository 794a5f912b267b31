/** Badges of the navigation. */

import { expect, it } from 'vitest'
import { badgesOf } from '../../../../../web/features/console/shell/badges.ts'
import { figuresOf, pointAt, quietSituation } from '../../../../support/web/figures.ts'

const SPOOL = {
  ...{ id: 'shared', writable: true, since: 0, max_bytes: 1, project_max_bytes: 1, max_age_ms: 1 },
  ...{
    attempts: [],
    envelopes: 3,
    mirrors: [{ project: 'mirror.example/1', category: 'error', envelopes: 2, bytes: 1 }],
  },
}

it('a site without problems has none, nor has one whose figures are missing', () => {
  const point = pointAt(9, { outcomes: { delivered: 5, filtered: 2 } })
  const spool = { ...SPOOL, envelopes: 0, mirrors: [] }
  expect(badgesOf({ situation: quietSituation(), recent: { figures: figuresOf([point]) }, spool })).toEqual(
    [],
  )
  expect(badgesOf({ situation: quietSituation(), recent: { missing: 'timeout' }, spool: undefined })).toEqual(
    [],
  )
})

it('problems, rejected and lost envelopes, and pending ones have a badge, each counted once', () => {
  const point = pointAt(9, {
    outcomes: { 'rejected:dsn-unknown': 4, 'rejected:spool-full': 2 },
    final_outcomes: { expired: 1, evicted: 1, delivered: 7 },
    vanished: 1,
  })
  const situation = quietSituation({
    state: 'degraded',
    problems: [
      { kind: 'paused', others: 0, since: 1 },
      { kind: 'gap', since: 1, until: 2 },
    ],
  })
  expect(badgesOf({ situation, recent: { figures: figuresOf([point]) }, spool: SPOOL })).toEqual([
    { place: 'overview', count: 1, words: expect.stringMatching(/^1\sproblem$/) },
    { place: 'rejections', count: 9, words: '9 rejected or lost in the last 15 minutes' },
    { place: 'spool', count: 3, words: '3 pending' },
  ])
})
