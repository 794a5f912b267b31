/** Facts about a project that the console derives from the state of its server. */

import { expect, it } from 'vitest'
import type { ReplicaFigures, ReplicaStatus } from '../../../../../tunnel/src/contract.ts'
import { Monitor } from '../../../../../web/features/console/monitor/replica-monitor.ts'
import { describeProjects } from '../../../../../web/features/console/projects/projects.ts'

const FIGURES: ReplicaFigures = {
  ...{ outcomes: [], items: [], bytes: [], final_outcomes: [], durations: {}, upstream_durations: {} },
  process: { resident_bytes: 1, cpu_seconds: 1, event_loop_p99_seconds: 0 },
}

it('names the way of CSP reports for the projects of a server that discards them in envelopes', async () => {
  const breaker = { open: false, since: 0 } as const
  const status: ReplicaStatus = {
    ...{ version: '0', replica: 'a', since: 0, in_flight: 0, addresses: 0, settings: {}, dsns: [] },
    ...{ limits: [], warnings: [], actions: [] },
    projects: ['bugsink:8000/1', 'sentry.example/2'],
    upstreams: [
      { origin: 'http://bugsink:8000', breaker, csp_reports: 'endpoint' },
      { origin: 'https://sentry.example', breaker },
    ],
  }
  const monitor = new Monitor({
    origins: async () => ['http://a'],
    ask: async () => ({ status, figures: FIGURES }),
    now: Date.now,
  })
  const projects = describeProjects(await monitor.refresh(), [], status.projects)
  expect(projects.map(({ hasCspEndpoint }) => hasCspEndpoint)).toEqual([true, undefined])
})
