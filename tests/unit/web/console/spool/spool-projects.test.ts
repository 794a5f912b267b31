import { describe, expect, it } from 'vitest'
import { holdOf, listProjects } from '../../../../../web/features/console/spool/spool-projects.ts'

const PAGE = 50
const pending = (project: string, category: string, envelopes: number) => ({
  ...{ project, category, envelopes, bytes: 10 },
})
const ERRORS = pending('one', 'error', 3)
const SESSIONS = pending('one', 'session', 2)
const OTHERS = pending('two', 'error', 1)

describe('listProjects', () => {
  it('groups categories by project and mirror, with the pending envelopes of all of them', () => {
    const { projects } = listProjects({ partitions: [ERRORS, SESSIONS], mirrors: [OTHERS] }, 0, PAGE)
    expect(projects).toEqual([
      {
        name: 'one',
        pending: 5,
        isMirror: false,
        isPaused: false,
        categories: 2,
        partitions: [ERRORS, SESSIONS],
      },
      { name: 'two', pending: 1, isMirror: true, isPaused: false, categories: 1, partitions: [OTHERS] },
    ])
  })

  it('lists a paused project without pending envelopes', () => {
    const paused = [{ project: 'three', since: 0 }]
    const { projects } = listProjects({ partitions: [ERRORS], paused }, 0, PAGE)
    expect(projects).toEqual([
      { name: 'three', pending: 0, isMirror: false, isPaused: true, categories: 0, partitions: [] },
      { name: 'one', pending: 3, isMirror: false, isPaused: false, categories: 1, partitions: [ERRORS] },
    ])
  })

  it('lists a paused project with pending envelopes once', () => {
    const { projects, total } = listProjects(
      { partitions: [ERRORS], paused: [{ project: 'one', since: 0 }] },
      0,
      PAGE,
    )
    expect({ projects, total }).toMatchObject({ projects: [{ name: 'one', isPaused: true }], total: 1 })
  })

  it('lists nothing when only the delivery of all projects is paused', () => {
    expect(listProjects({ paused: [{ since: 0 }] }, 0, PAGE)).toEqual({ projects: [], total: 0 })
  })

  it('counts the pending envelopes of a project whose categories are on two pages', () => {
    const { projects, total } = listProjects({ partitions: [ERRORS, SESSIONS] }, 1, 1)
    expect({ projects, total }).toMatchObject({
      projects: [{ pending: 5, categories: 2, partitions: [SESSIONS] }],
      total: 2,
    })
  })
})

describe('holdOf', () => {
  const open = { origin: 'https://sentry.example', closed: [], nextProbe: 5 }

  it('names the next probe while the circuit breaker of the server is open on all replicas', () => {
    expect(holdOf('sentry.example/1', [], [open])).toEqual({ nextProbe: 5 })
    expect(holdOf('other.example/1', [], [open])).toBeUndefined()
    expect(holdOf('sentry.example/1', [], [{ ...open, closed: ['b'] }])).toBeUndefined()
  })

  it('says that the project or all projects are paused, whatever its server does', () => {
    expect(holdOf('sentry.example/1', [{ since: 1 }], [open])).toBe('paused')
    expect(holdOf('sentry.example/1', [{ project: 'sentry.example/1', since: 1 }], [open])).toBe('paused')
    expect(holdOf('sentry.example/1', [{ project: 'sentry.example/2', since: 1 }], [])).toBeUndefined()
  })
})
