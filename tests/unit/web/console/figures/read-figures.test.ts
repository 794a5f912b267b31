/** Figures of several stores, some of which are slow or fail. */

import { describe, expect, it } from 'vitest'
import type { Figures } from '../../../../../contract/figures.ts'
import { RECENT } from '../../../../../web/features/console/figures/range.ts'
import { type AskFigures, readFigures } from '../../../../../web/features/console/figures/read-figures.ts'
import type { ReplicaView } from '../../../../../web/features/console/monitor/replicas.ts'
import { figuresOf, pointAt, quietStatus } from '../../../../support/web/figures.ts'

const FIGURES = figuresOf([pointAt(1, { received: 1 })])
const NEVER = () => new Promise(() => {})

const replicaOf = (name: string, store: string, state: ReplicaView['state'] = 'responding'): ReplicaView => ({
  ...{ name, origin: `http://${name}`, state },
  status: quietStatus(name, { history_store: store }),
})

const read = (replicas: ReplicaView[], ask: AskFigures, waitMs = 20_000) =>
  readFigures(replicas, { range: RECENT, now: 1_000_000, ask, waitMs })

const received = (figures: Figures | undefined) => figures?.points.map((point) => point.received)

describe('readFigures', () => {
  it('asks one replica of each store for the range, and adds up', async () => {
    const asked: string[] = []
    const ask = async (origin: string, path: string) => {
      asked.push(origin + path)
      return FIGURES
    }
    const replicas = [replicaOf('a', 's-1'), replicaOf('b', 's-1'), replicaOf('c', 's-2')]
    const { figures, missing } = await read(replicas, ask)
    const path = '/figures?from=100000&to=1000000&step=60000'
    expect(asked).toEqual([`http://a${path}`, `http://c${path}`])
    expect([received(figures), missing]).toEqual([[2], undefined])
  })

  it('names a store that does not respond in time, and returns the figures of the others', async () => {
    const replicas = [replicaOf('a', 's-1'), replicaOf('b', 's-2')]
    const { figures, missing } = await read(replicas, (at) => (at === 'http://a' ? NEVER() : ok()), 5)
    expect(received(figures)).toEqual([1])
    expect(missing).toBe('Figures of a are missing: no response within 0.005 s.')
  })

  it.each([
    ['no JSON', () => Promise.reject(new SyntaxError('Unexpected token'))],
    ['an unknown response, as of an earlier release', async () => ({ outcomes: [] })],
    ['null', async () => null],
  ])('asks another replica of a store after %s', async (_, respond) => {
    const replicas = [replicaOf('a', 's-1'), replicaOf('b', 's-1')]
    const reading = await read(replicas, (origin) => (origin === 'http://a' ? respond() : ok()))
    expect(reading).toEqual({ figures: FIGURES })
  })

  it('returns no figures, but the reason, when no replica returns some', async () => {
    const refuse = () => Promise.reject(new Error('disk full'))
    const replicas = [replicaOf('a', 's-1'), replicaOf('b', 's-1')]
    expect(await read(replicas, refuse)).toEqual({ missing: 'Figures of a, b are missing: disk full.' })
    expect(await read([], refuse)).toEqual({ missing: 'Figures are missing: no replica responds.' })
  })

  it('names the stores of unresponsive replicas, not those of stopped ones', async () => {
    const replicas = [
      ...[replicaOf('a', 's-1'), replicaOf('b', 's-2', 'unresponsive')],
      ...[replicaOf('c', 's-1', 'stopped'), replicaOf('d', 's-3', 'stopped')],
    ]
    expect(await read(replicas, ok)).toEqual({
      ...{ figures: FIGURES, missing: 'Figures of b are missing: no response.' },
    })
  })

  it('names a replica that has not responded so far: its store is unknown', async () => {
    const unknown: ReplicaView = { origin: 'http://late:9091', state: 'unresponsive' }
    const { missing } = await read([replicaOf('a', 's-1'), unknown], ok)
    expect(missing).toBe('Figures of late:9091 are missing: no response.')
  })
})

async function ok(): Promise<Figures> {
  return FIGURES
}
