/** Servers of all replicas, and their errors. */

import { describe, expect, it } from 'vitest'
import { remedyOfStatus } from '../../../contract/situation/upstream-errors.ts'
import { mirrorServersOf, upstreamsOf } from '../../../contract/situation/upstreams.ts'
import type { UpstreamState } from '../../../contract/upstream.ts'

const serverOf = (origin: string, parts: Partial<UpstreamState> = {}): UpstreamState => ({
  ...{ origin, has_responded: true, refusals: [], breaker: { open: false, since: 0 } as const, ...parts },
})

describe('mirrorServersOf', () => {
  it('lists each server of mirrors once, without those of projects', () => {
    const mirrorOf = (mirror: string, origin: string) => ({
      ...{ mirror, project: 's/1', results: {}, limits: [], upstream: serverOf(origin) },
    })
    const mirrors = [mirrorOf('m/1', 'https://m'), mirrorOf('m/2', 'https://m'), mirrorOf('s/2', 'https://s')]
    expect(mirrorServersOf({ upstreams: [serverOf('https://s')], mirrors })).toEqual([serverOf('https://m')])
    expect(mirrorServersOf({ upstreams: [] })).toEqual([])
  })
})

describe('upstreamsOf', () => {
  const MINUTE = 60_000
  const errorOf = (first: number, last: number) => ({
    ...({ class: 'http-5xx', status: 503, first: first * MINUTE, last: last * MINUTE, count: 5 } as const),
  })
  const errorsOf = (...errors: ReturnType<typeof errorOf>[]) => {
    const replicas = errors.map((last_error, index) => ({
      name: `replica-${index}`,
      status: { upstreams: [serverOf('https://s', { last_error })] },
    }))
    return upstreamsOf(replicas)[0]?.error
  }

  it('adds up equal errors of several replicas', () => {
    expect(errorsOf(errorOf(20, 22), errorOf(21, 24))).toEqual({ ...errorOf(20, 24), count: 10 })
  })

  it('leaves out the error that a replica without traffic keeps from an outage before', () => {
    const second = errorOf(20, 24)
    expect(errorsOf(errorOf(1, 3), second)).toEqual(second)
    expect(errorsOf(second, errorOf(1, 3))).toEqual(second)
  })
})

it('names a remedy for each status that an operator has to mend, and none for others', () => {
  expect(remedyOfStatus(200)).toContain('the host in SENTRY_DSN')
  for (const status of [401, 403, 404]) expect(remedyOfStatus(status)).toContain('key in SENTRY_DSN')
  for (const status of [400, 405, 415]) expect(remedyOfStatus(status)).toContain('settings of the server')
  for (const status of [429, 500, 503]) expect(remedyOfStatus(status)).toBe('')
})
