/** Connections to one upstream, shared by small and large bodies. */

import { beforeEach, describe, expect, it } from 'vitest'
import { Connections, type Job } from '../../../tunnel/src/upstream/connections.ts'

const SMALL = 1_000
const LARGE = 20_000_000

describe('Connections', () => {
  let connections: Connections
  let started: Job[]

  beforeEach(() => {
    connections = new Connections(8)
    started = []
  })

  const add = (bytes: number, count = 1): Job[] =>
    Array.from({ length: count }, () => {
      const job: Job = { bytes, start: () => void started.push(job) }
      connections.add(job)
      return job
    })
  const release = (jobs: Job[]) => {
    for (const job of jobs) connections.release(job)
  }

  it('start as many requests as there are connections, and the others in their order', () => {
    const jobs = add(SMALL, 12)
    expect(started).toEqual(jobs.slice(0, 8))
    release(jobs.slice(0, 2))
    expect(started).toEqual(jobs.slice(0, 10))
  })

  it('give large bodies a quarter, so that small ones do not wait for them', () => {
    const large = add(LARGE, 200)
    const small = add(SMALL, 6)
    expect(started).toEqual([...large.slice(0, 2), ...small])
  })

  it('give large bodies their share while many small ones wait', () => {
    const [first = [], second = []] = [add(SMALL, 8), add(SMALL, 8)]
    const [large] = add(LARGE)
    release(first.slice(0, 2))
    expect(started.slice(8)).toEqual([large, second[0]])
  })

  it('do not start a request that ended while it waited', () => {
    const jobs = add(SMALL, 10)
    release([...jobs.slice(8, 9), ...jobs.slice(0, 1)])
    expect(started).toEqual([...jobs.slice(0, 8), ...jobs.slice(9)])
  })

  it('count a request that ends while it starts', () => {
    const job: Job = { bytes: SMALL, start: () => connections.release(job) }
    for (let n = 0; n < 20; n++) connections.add(job)
    expect(add(SMALL, 8)).toEqual(started)
  })

  it('leave a quarter to live traffic when the spool asks', () => {
    expect(connections.spare()).toBe(6)
    const jobs = add(SMALL, 7)
    expect(connections.spare()).toBe(0)
    release(jobs.slice(0, 2))
    expect(connections.spare()).toBe(1)
  })

  it('serve the spool too when there is only one', () => {
    connections = new Connections(1)
    expect(connections.spare()).toBe(1)
    const [large] = add(LARGE)
    expect(started).toEqual([large])
  })
})
