/** Connections to one upstream, shared by small and large bodies. */

import { beforeEach, describe, expect, it } from 'vitest'
import { Connections, type Job } from '../../../../tunnel/src/forward/upstream/connections.ts'

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

  it('start as many requests as there are connections, and the others in order', () => {
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

  it('release the connection of a request that ends while it starts', () => {
    const job: Job = { bytes: SMALL, start: () => connections.release(job) }
    for (let n = 0; n < 20; n++) connections.add(job)
    expect(add(SMALL, 8)).toEqual(started)
  })

  it('give the spool at most three quarters', () => {
    expect(connections.spare(0)).toBe(6)
    expect(connections.spare(4)).toBe(2)
    expect(connections.spare(6)).toBe(0)
  })

  it('give the spool the connections that live traffic does not use', () => {
    const jobs = add(SMALL, 7)
    expect(connections.spare(0)).toBe(1)
    release(jobs.slice(0, 1))
    expect(connections.spare(0)).toBe(2)
    add(SMALL, 20)
    expect(connections.spare(0)).toBe(0)
  })

  it('serve the spool when there is only one connection', () => {
    connections = new Connections(1)
    expect(connections.spare(0)).toBe(1)
    const [large] = add(LARGE)
    expect(started).toEqual([large])
  })
})
