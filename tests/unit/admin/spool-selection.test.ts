/** Selection of pending entries by a DSN or a name, which a list and a purge read alike. */

import { pino } from 'pino'
import { expect, it } from 'vitest'
import { AuditLog } from '../../../tunnel/src/admin/audit-log.ts'
import { createStoreAdmin, type StoreAdminDeps } from '../../../tunnel/src/admin/store-routes.ts'
import { createProjects, mirrorKeyOf } from '../../../tunnel/src/pipeline/projects.ts'
import { PROJECT } from '../../support/spool/entries.ts'
import { createMemorySpool } from '../../support/spool/memory-spool.ts'

const CONNECTION = {
  incoming: { socket: { remoteAddress: '127.0.0.1', remotePort: 1, remoteFamily: 'IPv4' } },
}

it.each([
  ['DSN, which leaves out those of the mirror', PROJECT, 1],
  ['name', 'sentry.example/456', 2],
])('purges the pending entries that the list has for the same %s', async (_, project, count) => {
  const spool = createMemorySpool(() => 0)
  for (const key of [PROJECT, mirrorKeyOf(PROJECT)]) await spool.add(undefined, { project: key })
  const auditLog = new AuditLog(pino({ level: 'error' }, { write: () => {} }), 'a', () => 0)
  const deps = { spool, auditLog, projects: createProjects([]), onFinalOutcome: () => {} }
  const app = createStoreAdmin(deps as unknown as StoreAdminDeps) // these requests need no jobs and no receipts
  const query = new URLSearchParams({ project, category: 'error' })
  const ask = async (method: string, path: string) =>
    (await app.request(`${path}${query}`, { method }, CONNECTION)).json()
  for (const path of ['/spool?', '/store/entries?state=pending&'])
    expect([path, (await ask('GET', path)).entries]).toMatchObject([path, { length: count }])
  expect(await ask('DELETE', '/spool?')).toEqual({ purged: count, left: 0 })
})
