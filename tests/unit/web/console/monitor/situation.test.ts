/** Situation of the site, as the replicas that respond tell it. */

import { describe, expect, it } from 'vitest'
import type { Incident, Situation } from '../../../../../contract/situation/situation.ts'
import type { SpoolStatus } from '../../../../../contract/spool.ts'
import { situationOf } from '../../../../../web/features/console/monitor/situation.ts'
import { quietSituation, quietStatus } from '../../../../support/web/figures.ts'

const incidentAt = (since: number): Incident => ({
  ...{ state: 'outage', since, until: since + 1, kinds: ['upstream'] },
  ...{ delivered_late: 1, lost: 0, is_counting: false },
})
const replicaOf = (name: string, situation: Situation | undefined, store = 'shared') => ({
  ...{ name, origin: `http://${name}`, state: 'responding' as const },
  status: quietStatus(name, {
    spool: { ...SPOOL, id: store },
    ...(situation ? { situation } : { situation: undefined as never }),
  }),
})
const SPOOL: SpoolStatus = {
  ...{ id: 'shared', writable: true, since: 0, attempts: [] },
  ...{ max_bytes: 1, project_max_bytes: 1, max_age_ms: 1 },
}
const losses = { expired: 1, evicted: 0, unavailable: 2, vanished: 0 }
const LOST = { ...losses, full_rate: 0 }

describe('situationOf', () => {
  it('is that of a replica which responds', () => {
    const situation = quietSituation({ incidents: [incidentAt(5)] })
    const stopped = { ...replicaOf('b', quietSituation({ state: 'outage' })), state: 'stopped' as const }
    expect(situationOf([stopped, replicaOf('a', situation)], undefined)).toEqual(situation)
  })

  it('is that no replica responds when none does, with the incidents that were known', () => {
    const away = { origin: 'http://a', state: 'unresponsive', unresponsiveSince: 7 } as const
    const last = quietSituation({ incidents: [incidentAt(5)] })
    expect(situationOf([away], last)).toMatchObject({
      ...{ state: 'outage', problems: [{ kind: 'no-replica', since: 7 }], incidents: last.incidents },
    })
    expect(situationOf([], undefined).problems).toEqual([{ kind: 'no-replica' }])
  })

  it('is unknown while the replicas do not tell it', () => {
    expect(situationOf([replicaOf('a', undefined)], undefined)).toMatchObject({
      ...{ state: 'degraded', problems: [{ kind: 'figures-missing' }] },
    })
  })

  it('is that of the store which most tunnels use, and names those with another one', () => {
    const gap = { kind: 'gap', since: 1, until: 2 } as const
    const site = quietSituation({ problems: [gap], week: { losses } })
    const other = quietSituation({ state: 'outage', problems: [{ kind: 'spool-silent' }] })
    const strangers = [replicaOf('c', other, '1'), replicaOf('d', other, '0')]
    const differ = { kind: 'stores-differ', name: 'd', others: 1 }
    expect(situationOf([...strangers, replicaOf('a', site), replicaOf('b', site)], undefined)).toEqual({
      ...{ ...site, state: 'degraded', since: undefined, problems: [differ, gap] },
    })
    const limited = quietSituation({ state: 'degraded', since: 3, problems: [gap] })
    expect(
      situationOf([...strangers, replicaOf('a', limited), replicaOf('b', limited)], undefined),
    ).toMatchObject({
      ...{ state: 'degraded', since: 3, problems: [differ, gap] },
    })
    const away = quietSituation({ state: 'outage', problems: [{ kind: 'losing', losses: LOST }] })
    expect(situationOf([...strangers, replicaOf('a', away), replicaOf('b', away)], undefined)).toMatchObject({
      state: 'outage',
      problems: [{ kind: 'losing' }, differ],
    })
  })

  it('does not count a tunnel whose store is not open yet as one with another store', () => {
    const site = quietSituation()
    const starting = replicaOf('b', quietSituation({ state: 'outage' }), 'none-yet')
    expect(situationOf([starting, replicaOf('a', site)], undefined)).toEqual(site)
  })
})
