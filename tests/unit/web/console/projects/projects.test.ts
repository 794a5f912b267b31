/** Facts about a project that the console derives from the state of its server. */

import { expect, it } from 'vitest'
import type { ProjectActivity, ReplicaStatus } from '../../../../../contract/admin-api.ts'
import { describeProjects } from '../../../../../web/features/console/projects/projects.ts'
import { quietStatus } from '../../../../support/web/figures.ts'

const BREAKER = { open: false, since: 0 } as const

const PROJECTS = ['bugsink:8000/1', 'sentry.example/2']

function describe(upstreams: ReplicaStatus['upstreams'], reports: ProjectActivity[] = []) {
  const status = quietStatus('a', { upstreams, projects: PROJECTS })
  const replicas = [{ origin: 'http://a', state: 'responding', status } as const]
  return describeProjects({ replicas, limits: [], spools: [] }, reports, PROJECTS)
}

it('names the way of CSP reports for the projects of a server that discards them in envelopes', () => {
  const projects = describe([
    { origin: 'http://bugsink:8000', breaker: BREAKER, csp_reports: 'endpoint' },
    { origin: 'https://sentry.example', breaker: BREAKER },
  ])
  expect(projects.map(({ hasCspEndpoint }) => hasCspEndpoint)).toEqual([true, undefined])
})

it('shows the answer with which a server refuses the envelopes of a project', () => {
  const refusal = { project: 'bugsink:8000/1', status: 403, message: 'No', count: 1, first: 1, last: 2 }
  const projects = describe([
    { origin: 'http://bugsink:8000', breaker: BREAKER, refusals: [refusal] },
    { origin: 'https://sentry.example', breaker: BREAKER, refusals: [] },
  ])
  expect(projects.map((project) => project.refusal)).toEqual([refusal, undefined])
})

it('adds up the traffic of each category over the replicas', () => {
  const report = (envelopes: number, bytes: number): ProjectActivity => ({
    ...{ project: 'sentry.example/2', sdks: [], releases: [], unknown_types: [] },
    traffic: [
      { category: 'session', outcome: 'delivered', envelopes: 1, bytes: 2 },
      { category: 'error', outcome: 'delivered', envelopes, bytes },
      { category: 'error', outcome: 'spooled', envelopes: 1, bytes: 5 },
    ],
    final_outcomes: { delivered: 1 },
  })
  const [, project] = describe([], [report(2, 10), report(3, 20)])
  const errors = { delivered: { envelopes: 5, bytes: 30 }, spooled: { envelopes: 2, bytes: 10 } }
  expect(project).toMatchObject({
    traffic: [
      { category: 'error', amounts: errors },
      { category: 'session', amounts: { delivered: { envelopes: 2, bytes: 4 } } },
    ],
    totals: { delivered: { envelopes: 7, bytes: 34 }, spooled: { envelopes: 2, bytes: 10 } },
    outcomes: ['delivered', 'spooled'],
    finalOutcomes: [{ outcome: 'delivered', count: 2 }],
  })
})

it('reads the report of a tunnel of the previous release, which has no traffic', () => {
  const report = { project: 'sentry.example/2', sdks: [], releases: [], unknown_types: [] }
  expect(describe([], [report])[1]).toMatchObject({ traffic: [], finalOutcomes: [] })
})
