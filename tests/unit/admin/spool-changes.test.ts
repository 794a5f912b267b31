/** Changes of spool entries that the audit log lists: those that had an effect. */

import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import { AuditLog } from '../../../tunnel/src/admin/audit-log.ts'
import { createStoreAdmin, type StoreAdminDeps } from '../../../tunnel/src/admin/store-routes.ts'
import { createProjects } from '../../../tunnel/src/pipeline/projects.ts'
import type { Spool } from '../../../tunnel/src/pipeline/spool.ts'
import { createMemorySpool } from '../../support/spool/memory-spool.ts'

const LIMITS = {
  ...{ headerBytes: 1, totalHeaderBytes: 1, headerKeys: 1, headerNesting: 1, headerValues: 1, items: 1 },
}
const CONNECTION = {
  incoming: { socket: { remoteAddress: '127.0.0.1', remotePort: 1, remoteFamily: 'IPv4' } },
}

/** Opens the routes of a spool with one entry, which is due at a known time. */
async function openAdmin(parts: Partial<Spool>) {
  const store = createMemorySpool(() => 0)
  const { key } = await store.add()
  const list: Spool['list'] = async (query) =>
    (await store.list(query)).map((found) => ({ ...found, due: 1 }))
  const auditLog = new AuditLog(pino({ level: 'error' }, { write: () => {} }), 'a', () => 0)
  const spool = { ...store, list, ...parts }
  const deps = { spool, auditLog, limits: LIMITS, projects: createProjects([]), onFinalOutcome: () => {} }
  const app = createStoreAdmin(deps as unknown as StoreAdminDeps) // these changes need no jobs and no receipts
  return {
    ask: async (method: string, path: string) =>
      (await app.request(`/spool/1-${key}${path}`, { method }, CONNECTION)).status,
    actions: () => auditLog.actions().map(({ action, envelopes }) => [action, envelopes]),
  }
}

describe('Recent changes', () => {
  it('list no retry and no purge of an entry that a replica takes at the same moment', async () => {
    const { ask, actions } = await openAdmin({ retry: async () => 0, purge: async () => [] })
    expect(await ask('POST', '/retry')).toBe(409)
    expect(await ask('DELETE', '')).toBe(404)
    expect(actions()).toEqual([])
  })

  it('list a retry that had an effect', async () => {
    const { ask, actions } = await openAdmin({ retry: async () => 1 })
    expect(await ask('POST', '/retry')).toBe(200)
    expect(actions()).toEqual([['spool-retry', 1]])
  })
})
