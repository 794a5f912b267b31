/** Facts about a project that the console derives from the state of its server. */

import { expect, it } from 'vitest'
import type { ReplicaFigures, ReplicaStatus } from '../../../../../contract/admin-api.ts'
import { Monitor } from '../../../../../web/features/console/monitor/replica-monitor.ts'
import { describeProjects } from '../../../../../web/features/console/projects/projects.ts'

const FIGURES: ReplicaFigures = {
  ...{ outcomes: [], items: [], bytes: [], final_outcomes: [], durations: {}, upstream_durations: {} },
  process: { resident_bytes: 1, cpu_seconds: 1, event_loop_p99_seconds: 0 },
}

const BREAKER = { open: false, since: 0 } as const

async function describe(upstreams: ReplicaStatus['upstreams']) {
  const status: ReplicaStatus = {
    ...{ version: '0', replica: 'a', since: 0, in_flight: 0, addresses: 0, settings: {}, dsns: [] },
    ...{ limits: [], warnings: [], actions: [], upstreams },
    projects: ['bugsink:8000/1', 'sentry.example/2'],
  }
  const monitor = new Monitor({
    origins: async () => ['http://a'],
    ask: async () => ({ status, figures: FIGURES }),
    now: Date.now,
  })
  return describeProjects(await monitor.refresh(), [], status.projects)
}

it('names the way of CSP reports for the projects of a server that discards them in envelopes', async () => {
  const projects = await describe([
    { origin: 'http://bugsink:8000', breaker: BREAKER, csp_reports: 'endpoint' },
    { origin: 'https://sentry.example', breaker: BREAKER },
  ])
  expect(projects.map(({ hasCspEndpoint }) => hasCspEndpoint)).toEqual([true, undefined])
})

it('shows the answer with which a server refuses the envelopes of a project', async () => {
  const refusal = { project: 'bugsink:8000/1', status: 403, message: 'No', count: 1, first: 1, last: 2 }
  const projects = await describe([
    { origin: 'http://bugsink:8000', breaker: BREAKER, refusals: [refusal] },
    { origin: 'https://sentry.example', breaker: BREAKER, refusals: [] },
  ])
  expect(projects.map((project) => project.refusal)).toEqual([refusal, undefined])
})
