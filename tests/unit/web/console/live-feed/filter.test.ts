/** Filter of the live feed, and its form in the URL. */

import { describe, expect, it } from 'vitest'
import type { Receipt, SpoolOutcome } from '../../../../../contract/admin-api.ts'
import {
  type FeedFilter,
  matches,
  readFilter,
  writeView,
} from '../../../../../web/features/console/live-feed/filter.ts'

const common = { time: 0, bytes: 1, status: 200, duration_ms: 1, replica: 'r1' }
const RECEIPTS: Receipt[] = [
  {
    ...{ ...common, id: 'r1-1', outcome: 'delivered', project: 'o1.sentry.example/1', sdk: 'js/11.12.0' },
    ...{ event_id: 'aaaa', items: [{ type: 'event', bytes: 1 }] },
  },
  {
    ...{ ...common, id: 'r1-2', outcome: 'spooled', project: 'o1.sentry.example/2', sdk: 'node/10.0.0' },
    ...{ event_id: 'bbbb', items: [{ type: 'session', bytes: 1 }] },
  },
  {
    ...{
      ...common,
      id: 'r1-3',
      time: Date.UTC(2026, 10, 22, 23, 10),
      outcome: 'spooled',
      project: 'o1.sentry.example/3',
      sdk: 'php/4.0.0',
    },
    ...{ event_id: 'cccc', items: [{ type: 'log', bytes: 1 }] },
  },
  {
    ...{ ...common, id: 'r2-1', outcome: 'rejected', reason: 'dsn-unknown', replica: 'r2', items: [] },
  },
]
const EXPIRED: SpoolOutcome = {
  ...{ receipt: 'r1-2', final_outcome: 'expired', time: 1, waited_ms: 1, project: 'o1.sentry.example/2' },
  ...{ category: 'session', replica: 'r1' },
}

const idsBy = (filter: FeedFilter) =>
  RECEIPTS.filter((receipt) =>
    matches({ receipt, ...(receipt.id === EXPIRED.receipt && { finalOutcome: EXPIRED }) }, filter),
  ).map(({ id }) => id)

describe('The filter of the live feed', () => {
  it.each<[filter: FeedFilter, ids: string[]]>([
    [{}, ['r1-1', 'r1-2', 'r1-3', 'r2-1']],
    [{ project: 'o1.sentry.example/1' }, ['r1-1']],
    [{ outcome: 'rejected' }, ['r2-1']],
    [{ outcome: 'spooled' }, ['r1-3']], // the other one has a final outcome
    [{ outcome: 'expired' }, ['r1-2']],
    [{ reason: 'dsn-unknown' }, ['r2-1']],
    [{ type: 'session' }, ['r1-2']],
    [{ sdk: 'js/11.12.0' }, ['r1-1']],
    [{ text: 'BBB' }, ['r1-2']],
    [{ text: 'r2' }, ['r2-1']],
    [{ text: 'o1.sentry', type: 'event' }, ['r1-1']],
    [{ type: 'event', sdk: 'node/10.0.0' }, []],
    [{ from: '2026-11-22T23:10:00Z', to: '2026-11-22T23:20:00Z' }, ['r1-3']],
    [{ to: '2026-11-22T23:10:00Z', type: 'event' }, ['r1-1']],
    [{ from: 'yesterday', type: 'event' }, ['r1-1']], // not a time
  ])('%o matches %o', (filter, ids) => {
    expect(idsBy(filter)).toEqual(ids)
    expect(readFilter(new URLSearchParams(writeView(filter, 'r1-1')))).toEqual(filter)
  })
})
