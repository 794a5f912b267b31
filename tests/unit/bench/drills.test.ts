/** Failure drills: declarations, arguments of the command, judgement of a run, and table. */

import { describe, expect, it } from 'vitest'
import { declareDrill, type Sign } from '../../../bench/drills/drill.ts'
import { DRILLS, readArguments } from '../../../bench/drills/drills.ts'
import type { Answer } from '../../../bench/drills/load.ts'
import { describeResponses, judge } from '../../../bench/drills/runner.ts'
import { drawTable } from '../../../bench/drills/table.ts'

const [LOG, STATUS]: readonly [Sign, Sign] = [
  { source: 'log', shows: /opened/, words: 'a log line' },
  { source: 'status', shows: /late/, words: 'a notice' },
]

const DRILL = declareDrill({
  name: 'example',
  title: 'Example',
  fault: async () => {},
  repair: async () => {},
  signs: [LOG, STATUS],
  remedy: 'wait',
  bounds: { lost: 0, duplicates: 1 },
})

const answer = (id: string, status: number, ms = 1): Answer => ({
  id,
  status,
  isSpooled: false,
  code: '',
  ms,
})
const ANSWERS = [answer('a', 200), answer('b', 200, 40), answer('c', 200), answer('d', 503), answer('e', 0)]

describe('DRILLS', () => {
  it('covers each failure once', () => {
    expect(DRILLS.map(({ name }) => name)).toEqual([
      'sentry-down',
      'sentry-flapping',
      'sentry-slow',
      'sentry-limiting',
      'dns-gone',
      'one-tunnel-killed',
      'all-tunnels-killed',
      'everything-killed',
      'deploy-and-rollback',
      'scaling',
      'damaged-file',
      'self-signed',
      'disk-full',
      'nats-killed',
      'nats-stream-lost',
    ])
  })

  it.each(DRILLS)('$name has a modest load and a remedy', ({ rate, seconds, remedy }) => {
    expect(rate).toBeLessThanOrEqual(100)
    expect(seconds).toBeLessThanOrEqual(20)
    expect(remedy).not.toBe('')
  })
})

describe('readArguments', () => {
  it('returns all drills, or only those that --only names', () => {
    expect(readArguments(['--publish'])).toEqual({ drills: DRILLS, publish: true })
    const { drills } = readArguments(['--only', 'scaling', '--only', 'dns-gone'])
    expect(drills.map(({ name }) => name)).toEqual(['dns-gone', 'scaling'])
  })

  it('throws for an unknown drill, and when only a part of the results would be published', () => {
    expect(() => readArguments(['--only', 'fire'])).toThrow('"fire" is no drill; these are: sentry-down, ')
    expect(() => readArguments(['--only', 'scaling', '--publish'])).toThrow(
      '--publish needs the results of all',
    )
  })
})

describe('judge', () => {
  it('passes a drill when its figures are within bounds and its expected signs were seen', () => {
    const accepted = new Map([
      ['a', 2],
      ['b', 1],
      ['c', 1],
      ['another', 5],
    ])
    expect(judge(DRILL, ANSWERS, accepted, new Set([LOG, STATUS]))).toMatchObject({
      ...{ posted: 5, acknowledged: 3, notAccepted: 2, lost: 0, duplicates: 1, p99: 40 },
      ...{ seen: ['a log line', 'a notice'], missed: [], failures: [] },
    })
  })

  it('counts an acknowledged envelope that Sentry did not accept as lost, and names each broken expectation', () => {
    const accepted = new Map([
      ['a', 2],
      ['b', 3],
    ])
    expect(judge(DRILL, ANSWERS, accepted, new Set([LOG]))).toMatchObject({
      ...{ lost: 1, duplicates: 2, seen: ['a log line'], missed: ['a notice'] },
      failures: ['lost: 1, at most 0 expected', 'duplicates: 2, at most 1 expected', 'not seen: a notice'],
    })
  })
})

describe('describeResponses', () => {
  it('lists status and code of each response other than 2xx once', () => {
    const away = { ...answer('f', 502), code: 'tunnel-away' }
    expect(describeResponses([...ANSWERS, away, { ...away, id: 'g' }])).toBe('503, 0, 502 tunnel-away')
  })
})

describe('drawTable', () => {
  it('returns a row for each drill, with the signs that were not seen', () => {
    const result = judge(DRILL, ANSWERS, new Map(), new Set([LOG]))
    expect(drawTable([{ ...result, posted: 1500, p99: 2004.4 }]).split('\n')).toEqual([
      '| drill | load | not accepted | lost | duplicates | p99 | how it was reported | what to do |',
      '| --- | --- | --- | --- | --- | --- | --- | --- |',
      '| Example | 1,500 (100/s) | 2 | 3 | 0 | 2,004 ms | a log line; not seen: a notice | wait |',
    ])
  })
})
