/** Command for the scripts, which do not import the tunnel: `node tunnel/src/commands/describe.ts settings|metrics`. */

import type { Receipt } from 'contract/admin-api'
import type { DescribedSettings } from 'contract/described-settings'
import { INBOX, parseDsn } from 'contract/dsn'
import type { QuotaStatus } from 'contract/policies'
import type { Environment } from 'contract/settings'
import type { SpoolStatus } from 'contract/spool'
import { BadSettings, readConfig } from '../config/config.ts'
import { Counters } from '../observe/counters.ts'
import { Metrics } from '../observe/metrics.ts'
import { createProjects } from '../pipeline/projects.ts'

function describeSettings(env: Environment): DescribedSettings {
  try {
    const { shown, port, adminPort, edge } = readConfig(env)
    return { problems: [], values: { shown, port, adminPort, edge } }
  } catch (error) {
    if (error instanceof BadSettings) return { problems: error.problems }
    throw error
  }
}

/** Returns the metrics of a tunnel in which each metric has a sample, so that its labels show. */
async function exposeAll(): Promise<string> {
  const dsn = parseDsn('https://key@o1.ingest.us.sentry.io/2')
  const mirrors = dsn ? [{ source: dsn, target: INBOX }] : []
  const projects = createProjects(dsn ? [dsn] : [], mirrors)
  const project = projects.all[0]?.name ?? ''
  const breaker = { open: false, since: 0, nextProbe: 0 } as const
  const counters = new Counters(projects, () => 0)
  const metrics = new Metrics({
    counters,
    build: { version: '', revision: '' },
    inFlight: () => 0,
    bodyBytes: () => 0,
    limits: () => [{ project, category: 'error', until: 0 }],
    upstreams: () => [
      {
        origin: 'https://o1.ingest.us.sentry.io',
        breaker,
        refusals: [],
        lastError: undefined,
        hasResponded: false,
        errorCounts: new Map([['timeout', 0]]),
      },
    ],
    spool: async () => spoolStatus(project),
    quotas: () => [quotaStatus(project)],
    storms: () => [{ fingerprint: '', project, title: '', since: 0, seen: 0, sent: 0 }],
    problems: () => new Set(),
    projects,
    now: () => 0,
  })
  const receipt: Receipt = {
    ...{ id: 'r-1', time: 0, project, items: [{ type: 'event', bytes: 1 }], bytes: 1, outcome: 'delivered' },
    ...{ status: 200, upstream_status: 200, duration_ms: 1, upstream_duration_ms: 1, replica: 'r' },
    origin: 'https://shop.example',
  }
  counters.count(receipt)
  counters.countPolicyItems('quota', 'enforce', project, 1)
  counters.countScrubbed('@email:replace', 'enforce', 1)
  counters.countMirrored(projects.mirrors[0]?.target.name ?? '', 'delivered')
  counters.countFinalOutcome({ final_outcome: 'delivered', project })
  counters.countResent(project)
  counters.countReach('reachable', project)
  return metrics.expose()
}

function quotaStatus(project: string): QuotaStatus {
  return {
    ...{ project, category: 'error', period: 'day', limit: 1, used: 0, resets: 1 },
  }
}

function spoolStatus(project: string): SpoolStatus {
  const pending = { envelopes: 1, bytes: 1, oldest: 0 }
  return {
    ...{ id: 'spool', writable: true, since: 0, max_bytes: 1, project_max_bytes: 1, max_age_ms: 1 },
    ...{
      ...pending,
      full_in_seconds: 1,
      paused: [],
      partitions: [{ project, category: 'error', ...pending }],
    },
    durability: 'synced on 1 disk',
    ...{ disk_free_bytes: 1, wal_bytes: 1, damaged_files: [] },
    attempts: [{ project, result: 'delivered', attempts: 1 }],
  }
}

if (import.meta.main) {
  const [subject] = process.argv.slice(2)
  if (subject === 'settings') console.log(JSON.stringify(describeSettings(process.env)))
  else if (subject === 'metrics') console.log(await exposeAll())
  else throw new Error(`"${subject}" cannot be described; write settings or metrics`)
}
