/** Results and losses of envelopes, from the responses of a replica to the number that the overview shows. */

import { describe, expect, it } from 'vitest'
import type { OutcomeCount, ReplicaFigures, ReplicaStatus } from '../../../../../contract/admin-api.ts'
import type { SpoolStatus } from '../../../../../contract/spool.ts'
import { sumLosses } from '../../../../../web/features/console/monitor/losses.ts'
import { Monitor } from '../../../../../web/features/console/monitor/replica-monitor.ts'
import { type OverviewSnapshot, summarise } from '../../../../../web/features/console/monitor/snapshot.ts'
import { countResults } from '../../../../../web/features/console/overview/results.ts'

const SPOOL: SpoolStatus = {
  ...{ id: 'shared', writable: true, since: 0, max_bytes: 1, project_max_bytes: 1, max_age_ms: 1 },
  ...{ attempts: [], partitions: [], paused: [], envelopes: 0, bytes: 0 },
}

type Response = { figures?: Partial<ReplicaFigures>; spool?: Partial<SpoolStatus> }

/** Returns the overview of one replica after these responses. */
async function overviewOf(...responses: Response[]): Promise<OverviewSnapshot> {
  const statusOf = ({ spool }: Response): ReplicaStatus => ({
    ...{ version: '0.0.0', replica: 'a', since: 0, settings: {}, dsns: [], projects: [], in_flight: 0 },
    ...{ limits: [], upstreams: [], addresses: 0, warnings: [], actions: [] },
    spool: { ...SPOOL, ...spool },
  })
  const figuresOf = ({ figures }: Response): ReplicaFigures => ({
    ...{ outcomes: [], items: [], bytes: [], final_outcomes: [], durations: {}, upstream_durations: {} },
    process: { resident_bytes: 1, cpu_seconds: 0, event_loop_p99_seconds: 0 },
    ...figures,
  })
  let response: Response = {}
  const monitor = new Monitor({
    origins: async () => ['http://a'],
    ask: async () => ({ status: statusOf(response), figures: figuresOf(response) }),
    now: () => 0,
  })
  let snapshot = await monitor.snapshot(0)
  for (response of responses) snapshot = await monitor.refresh()
  return summarise(snapshot)
}

const rejected = (reason: string, count: number): OutcomeCount => ({
  ...{ outcome: 'rejected', reason, project: 'p/1', category: 'error', count },
})

describe('Lost envelopes', () => {
  it('are those that expired in the spool', async () => {
    const finals = [{ final_outcome: 'expired', project: 'p/1', count: 3 }] as const
    const { losses } = await overviewOf({ figures: { final_outcomes: [...finals] } })
    expect(losses).toEqual({ expired: 3, unavailable: 0, vanished: 0, damagedFiles: 0 })
    expect(sumLosses(losses)).toBe(3)
  })

  it.each(['spool-full', 'spool-unwritable', 'inbox-full', 'tunnel-failed', 'tunnel-busy'])(
    'are those that got 503 with %s',
    async (reason) => {
      const { losses, point } = await overviewOf({
        figures: { outcomes: [rejected(reason, 2), rejected('dsn-unknown', 5)] },
      })
      expect(losses).toEqual({ expired: 0, unavailable: 2, vanished: 0, damagedFiles: 0 })
      expect(countResults(point, losses)).toEqual(
        expect.arrayContaining([
          { name: 'rejected', count: 5 },
          { name: 'lost', count: 2 },
        ]),
      )
    },
  )

  it('are not those that got 503 and that their senders keep', async () => {
    const deferred: OutcomeCount = { ...rejected('spool-full', 2), outcome: 'deferred' }
    const { losses, point } = await overviewOf({ figures: { outcomes: [deferred] } })
    expect(sumLosses(losses)).toBe(0)
    expect(countResults(point, losses)).toEqual(
      expect.arrayContaining([
        { name: 'rejected', count: 0 },
        { name: 'deferred', count: 2 },
        { name: 'lost', count: 0 },
      ]),
    )
  })

  it('are those of a lost stream, also while the spool does not respond', async () => {
    const { envelopes: _, bytes: __, ...away } = SPOOL
    const { losses } = await overviewOf({ spool: { lost: 4 } }, { spool: { ...away, problem: 'timeout' } })
    expect(losses).toEqual({ expired: 0, unavailable: 0, vanished: 4, damagedFiles: 0 })
    expect(sumLosses(losses)).toBe(4)
  })

  it('include a damaged spool file with an unknown number', async () => {
    const { losses } = await overviewOf({ spool: { damaged_files: ['spool.db.damaged-1'] } })
    expect(losses).toEqual({ expired: 0, unavailable: 0, vanished: 0, damagedFiles: 1 })
  })
})

describe('countResults', () => {
  it('counts each envelope once, by its final result', async () => {
    const count = (outcome: OutcomeCount['outcome'], number: number): OutcomeCount => ({
      ...{ outcome, reason: '', project: 'p/1', category: 'error', count: number },
    })
    const { point, losses } = await overviewOf({
      figures: {
        outcomes: [
          ...[count('delivered', 10), count('spooled', 17), count('rate_limited', 3), count('filtered', 4)],
          ...[
            count('declined', 1),
            count('aborted', 1),
            rejected('dsn-unknown', 5),
            rejected('spool-full', 2),
          ],
        ],
        final_outcomes: [
          { final_outcome: 'delivered', project: 'p/1', count: 6 },
          { final_outcome: 'declined', project: 'p/1', count: 1 },
          { final_outcome: 'expired', project: 'p/1', count: 2 },
          { final_outcome: 'purged', project: 'p/1', count: 1 },
        ],
      },
      spool: { envelopes: 7 },
    })
    const results = countResults(point, losses)
    expect(results).toEqual([
      { name: 'direct', count: 10 },
      { name: 'later', count: 6 },
      { name: 'pending', count: 7 },
      { name: 'rejected', count: 5 },
      { name: 'filtered', count: 4 },
      { name: 'rate_limited', count: 3 },
      { name: 'declined', count: 2 },
      { name: 'aborted', count: 1 },
      { name: 'purged', count: 1 },
      { name: 'lost', count: 4 },
    ])
    expect(results.reduce((sum, result) => sum + result.count, 0)).toBe(43) // the sum of all outcomes
  })
})
