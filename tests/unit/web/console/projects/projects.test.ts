/** Facts about a project that the console derives from the state of its server. */

import { expect, it } from 'vitest'
import type { ProjectActivity, ReplicaStatus } from '../../../../../contract/admin-api.ts'
import { describePage, describeProjects } from '../../../../../web/features/console/projects/projects.ts'
import { quietStatus } from '../../../../support/web/figures.ts'

const QUIET = { has_responded: true, breaker: { open: false as const, since: 0 }, refusals: [] }

const PROJECTS = ['bugsink:8000/1', 'sentry.example/2']

function describe(upstreams: ReplicaStatus['upstreams'], reports: ProjectActivity[] = []) {
  const status = quietStatus('a', { upstreams, projects: PROJECTS })
  const replicas = [{ origin: 'http://a', state: 'responding', status } as const]
  return describeProjects({ replicas, limits: [], spool: undefined }, reports, PROJECTS)
}

it('names the way of CSP reports for the projects of a server that discards them in envelopes', () => {
  const projects = describe([
    { ...QUIET, origin: 'http://bugsink:8000', csp_reports: 'endpoint' },
    { ...QUIET, origin: 'https://sentry.example' },
  ])
  expect(projects.map(({ hasCspEndpoint }) => hasCspEndpoint)).toEqual([true, undefined])
})

it('shows the answer with which a server refuses the envelopes of a project', () => {
  const refusal = { project: 'bugsink:8000/1', status: 403, message: 'No', count: 1, first: 1, last: 2 }
  const projects = describe([
    { ...QUIET, origin: 'http://bugsink:8000', refusals: [refusal] },
    { ...QUIET, origin: 'https://sentry.example' },
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

it('adds up the envelopes of a mirror over the replicas, and names what it did not get', () => {
  const [bugsink = '', project = ''] = PROJECTS
  const other = 'sentry.example/9'
  const refusal = { project: bugsink, status: 403, message: 'No', count: 1, first: 1, last: 2 }
  const limit = { project: bugsink, category: 'error', until: 5 }
  const replica = (name: string, open: boolean, parts: object) => {
    const away = { breaker: { open: true as const, since: 0, next_probe: 1 }, refusals: [refusal] }
    const upstream = { ...QUIET, origin: 'http://bugsink:8000', ...(open && away) }
    const mirror = { mirror: bugsink, project, results: {}, limits: [], upstream, ...parts }
    const mirrors = [mirror, { ...mirror, project: other }]
    const status = quietStatus(name, { upstreams: [], projects: [project], mirrors })
    return { origin: `http://${name}`, state: 'responding', status } as const
  }
  const replicas = [
    replica('a', false, { results: { delivered: 7, lost: 1 }, limits: [limit] }),
    replica('b', true, { results: { delivered: 2, declined: 3 }, limits: [{ ...limit, until: 6 }] }),
  ]
  const spool = {
    ...{ id: 's', writable: true, since: 0, max_bytes: 1, project_max_bytes: 1, max_age_ms: 1, attempts: [] },
    ...{ envelopes: 0, mirrors: [{ project: bugsink, category: 'error', envelopes: 4, bytes: 1 }] },
  }
  const report: ProjectActivity = {
    ...{ project, sdks: [], releases: [], unknown_types: [], final_outcomes: { delivered: 1 } },
    traffic: [{ category: 'error', outcome: 'delivered', envelopes: 12, bytes: 1 }],
  }
  const [described] = describeProjects({ replicas, limits: [], spool }, [report], [project])
  expect(described?.mirrors).toEqual([
    {
      ...{ name: bugsink, delivered: 13, mirrored: 9, others: [other], pending: 4, isAway: true, refusal },
      missed: [
        { result: 'declined', count: 3 },
        { result: 'lost', count: 1 },
      ],
      limits: [{ ...limit, until: 6 }],
    },
  ])
})

it('divides the projects into pages of 50, and each page into those with envelopes and the others', () => {
  const ids = Array.from({ length: 60 }, (_, n) => `${n + 1}`)
  const status = quietStatus('a', { projects: ids })
  const replicas = [{ origin: 'http://a', state: 'responding', status } as const]
  const reportOf = (project: string): ProjectActivity => ({
    ...{ project, sdks: [], releases: [], unknown_types: [], final_outcomes: {} },
    traffic: [{ category: 'error', outcome: 'delivered', envelopes: 1, bytes: 2 }],
  })
  const page = (from: number) => {
    const reports = ['2', '55'].map(reportOf)
    const { active, idle } = describePage(
      { replicas, limits: [], spool: undefined, projects: ids },
      reports,
      from,
    )
    return [active, idle].map((projects) => projects.map(({ name }) => name))
  }
  const without = (id: string, names: string[]) => names.filter((name) => name !== id)
  expect(page(0)).toEqual([['2'], without('2', ids.slice(0, 50))])
  expect(page(50)).toEqual([['55'], without('55', ids.slice(50))])
})
