/** Durability of the streams, read from a real server. */

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import { describeServers } from '../../../tunnel/src/store/jetstream/jetstream-durability.ts'
import { it } from '../../support/nats/fixtures.ts'
import { type Nats, startNats } from '../../support/nats/nats.ts'
import { requires } from '../../support/requirements.ts'
import { makeMemoryFolder } from '../../support/temporary-folder.ts'

const durabilityOf = ({ server, monitoringPort }: Nats) =>
  describeServers({ servers: [server], replicas: 1, monitoringPort })

describe('A server with the shipped configuration', requires('nats-server'), () => {
  it('is known to sync each message', async ({ nats }) => {
    expect(await durabilityOf(nats)).toBe('on 1 of 1 servers, sync always')
  })

  it('is unproven without sync_interval', async () => {
    await using folder = await makeMemoryFolder()
    const config = join(folder.path, 'nats.conf')
    await writeFile(config, 'jetstream {}\n')
    await using nats = await startNats({ config })
    expect(await durabilityOf(nats)).toMatch(/^unproven: 1 of 1 servers do not sync each message/)
  })
})
