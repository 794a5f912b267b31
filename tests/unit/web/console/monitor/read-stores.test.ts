/** History of several stores, some of which are slow or fail. */

import { describe, expect, it } from 'vitest'
import type { ReplicaStatus } from '../../../../../contract/admin-api.ts'
import { describeMissing, readStores } from '../../../../../web/features/console/monitor/read-stores.ts'
import type { ReplicaView } from '../../../../../web/features/console/monitor/replicas.ts'

const HISTORY = { range: '1h', step_ms: 60_000, from: 0, to: 0, points: [] }
const WAIT_MS = 20_000
const PROMPTLY = async () => HISTORY
const NEVER = () => new Promise(() => {})

const replicaOf = (name: string, store: string, state: ReplicaView['state'] = 'responding'): ReplicaView => ({
  ...{ name, origin: `http://${name}`, state, rate: 0 },
  status: {
    ...{ version: '0.0.0', replica: name, since: 0, settings: {}, dsns: [], projects: [], in_flight: 0 },
    ...{ limits: [], upstreams: [], addresses: 0, warnings: [], actions: [], history_store: store },
  } satisfies ReplicaStatus,
})

describe('readStores', () => {
  it('asks one replica of each store', async () => {
    const asked: string[] = []
    const ask = async (origin: string) => {
      asked.push(origin)
      return HISTORY
    }
    const replicas = [replicaOf('a', 's-1'), replicaOf('b', 's-1'), replicaOf('c', 's-2')]
    const read = await readStores(replicas, ask, WAIT_MS)
    expect(asked).toEqual(['http://a', 'http://c'])
    expect(read).toEqual({ histories: [HISTORY, HISTORY], stores: 2, problems: [] })
    expect(describeMissing(read)).toBeUndefined()
  })

  it('returns the histories of the others when one store does not respond in time', async () => {
    const replicas = [replicaOf('a', 's-1'), replicaOf('b', 's-2')]
    const read = await readStores(replicas, (origin) => (origin === 'http://a' ? NEVER() : PROMPTLY()), 5)
    expect(read.histories).toEqual([HISTORY])
    expect(describeMissing(read)).toBe(
      'Incomplete: 1 of 2 stores returned their history (a: no response within 0.005 s).',
    )
  })

  it.each([
    ['no JSON', () => Promise.reject(new SyntaxError('Unexpected token'))],
    ['an unknown response', async () => ({ detail: 'no' })],
    ['null', async () => null],
  ])('asks another replica of a store after %s', async (_, respond) => {
    const replicas = [replicaOf('a', 's-1'), replicaOf('b', 's-1')]
    const ask = (origin: string) => (origin === 'http://a' ? respond() : PROMPTLY())
    expect(await readStores(replicas, ask, WAIT_MS)).toMatchObject({ histories: [HISTORY], stores: 1 })
  })

  it('reports the reason when no store returns a history', async () => {
    const ask = () => Promise.reject(new Error('disk full'))
    const read = await readStores([replicaOf('a', 's-1')], ask, WAIT_MS)
    expect(describeMissing(read)).toBe('No replica returns the history now (a: disk full).')
    expect(describeMissing(await readStores([], ask, WAIT_MS))).toBe('No replica returns the history now.')
  })

  it('counts the stores of unresponsive replicas, not those of stopped ones', async () => {
    const replicas = [
      ...[replicaOf('a', 's-1'), replicaOf('b', 's-2', 'unresponsive')],
      ...[replicaOf('c', 's-1', 'stopped'), replicaOf('d', 's-3', 'stopped')],
    ]
    const read = await readStores(replicas, PROMPTLY, WAIT_MS)
    expect(read).toEqual({ histories: [HISTORY], stores: 2, problems: ['b: no replica responds'] })
  })
})
