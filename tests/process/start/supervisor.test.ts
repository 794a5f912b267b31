/** Restarts of a supervised process. */

import { expect, it } from 'vitest'
import { type Clock, nextBackoff, supervise } from '../../../scripts/supervisor.ts'
import { until } from '../../support/command.ts'
import { NODE, ROOT } from '../../support/node.ts'

const serviceOf = (script: string) => ({
  name: 'example',
  command: [NODE, '-e', script],
  cwd: ROOT,
  env: {},
  isReady: async () => true,
  stopSignal: 'SIGTERM' as const,
})

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
  const output = { print: (sentence: string) => said.push(sentence), log: () => {} }
  const example = supervise(serviceOf('process.exit(3)'), output, new AbortController().signal, clock)
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

it('The supervisor prints nothing about a process that ends while the site stops', async () => {
  const said: string[] = []
  const stopped = new AbortController()
  let pid = 0
  const output = {
    print: (sentence: string) => said.push(sentence),
    log: (_: string, line: string) => {
      pid = Number(line)
      stopped.abort()
    },
  }
  const script = 'console.log(process.pid); setTimeout(() => process.exit(3), 50)'
  const example = supervise(serviceOf(script), output, stopped.signal)
  await example.ready
  await until(() => pid > 0 && !isRunning(pid), 'it has ended')
  for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate)
  await example.stop(1000)
  expect(said).toEqual([])
})

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
