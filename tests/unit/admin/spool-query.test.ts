/** Keys of the stored entries that the name of a project, or a DSN, selects. */

import { describe, expect, it } from 'vitest'
import { parseDsn } from '../../../contract/dsn.ts'
import { SpoolQueries } from '../../../tunnel/src/admin/spool-query.ts'
import { createProjects } from '../../../tunnel/src/pipeline/projects.ts'
import { createMemorySpool } from '../../support/spool/memory-spool.ts'

const OWN = 'https://own@sentry.example/1'
const MIRROR = 'https://its@mirror.example/7'
const GONE = 'https://gone@sentry.example/9'
const OTHERS = 'https://others@sentry.example/10'

describe('A project selects the stored entries', () => {
  const [own, mirror] = [OWN, MIRROR].map((dsn) => parseDsn(dsn))
  const pairs = own && mirror ? [{ source: own, target: mirror }] : []
  const spool = createMemorySpool(Date.now)
  spool.entries.count = async () => ({ entries: 2, bytes: 2, projects: [GONE, OTHERS] })
  const queries = new SpoolQueries(spool, createProjects(own ? [own] : [], pairs))

  it.each([
    ['of a mirror by its DSN', MIRROR, `${MIRROR}#mirror`],
    ['of a mirror by its name', 'mirror.example/7', `${MIRROR}#mirror`],
    ['of a project by its name', 'sentry.example/1', OWN],
    ['of a project that was a mirror', 'sentry.example/1', `${OWN}#mirror`],
    ['of a project that is not configured any more', 'sentry.example/9', GONE],
  ])('%s', async (_, name, key) => {
    expect(await queries.storedKeysOf(name)).toContain(key)
  })

  it('of no other project', async () => {
    expect(await queries.storedKeysOf('sentry.example/9')).toEqual([GONE, `${GONE}#mirror`])
    await expect(queries.storedKeysOf('sentry.example/11')).rejects.toThrow('No such project')
  })
})
