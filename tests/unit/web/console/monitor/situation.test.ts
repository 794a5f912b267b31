/** Situation of the site, as the replicas that respond tell it. */

import { describe, expect, it } from 'vitest'
import type { Incident, Situation } from '../../../../../contract/situation/situation.ts'
import { situationOf } from '../../../../../web/features/console/monitor/situation.ts'
import { quietSituation, quietStatus } from '../../../../support/web/figures.ts'

const incidentAt = (since: number): Incident => ({
  ...{ state: 'outage', since, until: since + 1, kinds: ['upstream'] },
  ...{ delivered_late: 1, lost: 0, is_counting: false },
})
const replicaOf = (name: string, situation: Situation | undefined, history_store = 'shared') => ({
  ...{ name, origin: `http://${name}`, state: 'responding' as const },
  status: quietStatus(name, {
    history_store,
    ...(situation ? { situation } : { situation: undefined as never }),
  }),
})
const losses = { expired: 1, evicted: 0, unavailable: 2, vanished: 0 }

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

  it('is the worse one of two stores, with the problems, losses and incidents of both', () => {
    const gap = { kind: 'gap', since: 1, until: 2 } as const
    const silent = { kind: 'spool-silent' } as const
    const a = quietSituation({ problems: [gap], week: { losses }, incidents: [incidentAt(5)] })
    const b = quietSituation({
      ...{ state: 'degraded', since: 9, problems: [silent], incidents: [incidentAt(8)] },
      week: { losses, missing: 'Figures are missing.' },
    })
    expect(situationOf([replicaOf('a', a, '1'), replicaOf('b', b, '2')], undefined)).toMatchObject({
      ...{ state: 'degraded', since: 9, problems: [silent, gap] },
      week: { losses: { expired: 2, unavailable: 4 }, missing: 'Figures are missing.' },
      incidents: [{ since: 8 }, { since: 5 }],
    })
  })
})
