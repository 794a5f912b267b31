/** Restarts of a supervised process. */

import { expect, it } from 'vitest'
import { type Clock, nextBackoff, supervise } from '../../../scripts/supervisor.ts'
import { until } from '../../support/command.ts'
import { NODE, ROOT } from '../../support/node.ts'

it('The supervisor doubles the backoff of a process that keeps ending, up to 10 s', () => {
  const pauses = [0]
  while (pauses.length < 9) pauses.push(nextBackoff(pauses.at(-1) ?? 0, 5))
  expect(pauses.slice(1)).toEqual([500, 1000, 2000, 4000, 8000, 10_000, 10_000, 10_000])
})

it('The supervisor resets the backoff after a run of one minute', () => {
  expect(nextBackoff(8000, 59_999)).toBe(10_000)
  expect(nextBackoff(8000, 60_000)).toBe(500)
})

it('The supervisor restarts a process until it is stopped', async () => {
  const waits: number[] = []
  const clock: Clock = {
    now: () => 0,
    wait: async (ms) => {
      waits.push(ms)
      await new Promise(setImmediate)
    },
  }
  const said: string[] = []
  const part = {
    name: 'example',
    command: [NODE, '-e', 'process.exit(3)'],
    cwd: ROOT,
    env: {},
    isReady: async () => true,
    stopSignal: 'SIGTERM' as const,
  }
  const example = supervise(part, { print: (sentence) => said.push(sentence), log: () => {} }, clock)
  await example.ready
  await until(() => said.length >= 3, 'it has ended three times')
  await example.stop(1000)
  const times = said.length
  expect(said.slice(0, 3)).toEqual([
    'example ended (exit code 3) and is started again in 0.5 s.',
    'example ended (exit code 3) and is started again in 1 s.',
    'example ended (exit code 3) and is started again in 2 s.',
  ])
  expect(waits.slice(0, 3)).toEqual([500, 1000, 2000])
  await new Promise(setImmediate)
  expect(said).toHaveLength(times)
})
