/** Durability on NATS, by what the servers tell. */

import { createServer } from 'node:http'
import { describe, expect, it } from 'vitest'
import {
  describeServers,
  problemOfNats,
} from '../../../../tunnel/src/store/jetstream/jetstream-durability.ts'
import { listen } from '../../../support/listen.ts'

type Told = Record<string, unknown>

const ALWAYS = { jetstream: { config: { sync_interval: 120e9, sync_always: true } } }
const DEFAULT = { jetstream: { config: { sync_interval: 120e9 } } }
const named = (varz: object, ids: readonly string[]) => ids.map((server_id) => ({ ...varz, server_id }))

/** Asks three servers, each at an address of its own, of which the first ones tell. */
async function describeWith(told: readonly Told[]): Promise<string> {
  const server = createServer(({ socket }, response) => {
    const varz = told[Number(socket.localAddress?.at(-1)) - 1]
    response.end(varz && JSON.stringify(varz))
  })
  await using listening = await listen(server, 0, '0.0.0.0')
  const servers = [1, 2, 3].map((n) => `127.0.0.${n}:4222`)
  return await describeServers({ servers, replicas: 3, monitoringPort: listening.port })
}

describe('describeServers', () => {
  it('says that each message is synced when all servers tell so', async () => {
    expect(await describeWith(named(ALWAYS, ['a', 'b', 'c']))).toBe('on 3 of 3 servers, sync always')
  })

  it.each([
    [
      'one server does not sync',
      [...named(ALWAYS, ['a', 'b']), ...named(DEFAULT, ['c'])],
      '1 of 3 servers do not sync',
    ],
    ['none does', named(DEFAULT, ['a', 'b', 'c']), '3 of 3 servers do not sync'],
    ['one does not tell', named(ALWAYS, ['a', 'b']), '2 of 3 servers tell'],
    ['one tells twice', named(ALWAYS, ['a', 'b', 'b']), '2 of 3 servers tell'],
    ['none tells', [], '0 of 3 servers tell'],
    ['they tell nothing of JetStream', named({}, ['a', 'b', 'c']), '0 of 3 servers tell'],
  ])('is unproven when %s', async (_, told, text) => {
    expect(await describeWith(told)).toMatch(new RegExp(`^unproven: ${text}.*set sync_interval: always`))
  })
})

describe('problemOfNats', () => {
  it.each(['2.9.25', '2.10.0', '2.10.22', '2.12.0', '2.12.2', '', 'unknown'])(
    'finds one in %s',
    (version) => {
      expect(problemOfNats(version)).toMatch(/^can/)
    },
  )

  it.each(['2.10.23', '2.10.29', '2.11.0', '2.12.3', '2.12.3-preview', '2.14.2', '3.0.0'])(
    'finds none in %s',
    (version) => {
      expect(problemOfNats(version)).toBeUndefined()
    },
  )
})
