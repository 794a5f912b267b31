/** Log lines that `npm start` prints. */

import { expect, it } from 'vitest'
import { Output, summarizeLine } from '../../../scripts/output.ts'

const RECEIPT = {
  id: '1',
  time: 0,
  items: [
    { type: 'event', bytes: 1000 },
    { type: 'attachment', bytes: 900 },
  ],
  bytes: 2140,
  outcome: 'delivered',
  status: 200,
  duration_ms: 33.7,
  replica: 'a',
}

const lineOf = (receipt: object) => JSON.stringify({ level: 'info', receipt, msg: 'envelope' })

it('summarizes an envelope by outcome, item types, size and duration', () => {
  const line = summarizeLine('tunnel-1', lineOf(RECEIPT), 'stdout')
  expect(line).toBe('tunnel-1  delivered  event, attachment  2.1 KB in 34 ms')
})

it('adds the reason and the status of a rejected envelope', () => {
  const rejected = { ...RECEIPT, outcome: 'rejected', reason: 'query-mismatch', status: 400, items: [] }
  const line = summarizeLine('tunnel-1', lineOf(rejected), 'stdout')
  expect(line).toBe('tunnel-1  rejected (query-mismatch, 400)  no items  2.1 KB in 34 ms')
})

it('keeps warnings and errors of the other log lines', () => {
  const line = (level: string) => JSON.stringify({ level, msg: 'so it is' })
  expect(['info', 'warn', 'error'].map((level) => summarizeLine('tunnel-2', line(level), 'stdout'))).toEqual([
    undefined,
    'tunnel-2  {"level":"warn","msg":"so it is"}',
    'tunnel-2  {"level":"error","msg":"so it is"}',
  ])
})

it('keeps lines without a level when they are on stderr', () => {
  expect(summarizeLine('web', '✓ Ready in 50ms', 'stdout')).toBeUndefined()
  expect(summarizeLine('web', 'Error: broken', 'stderr')).toBe('web  Error: broken')
  expect(summarizeLine('nginx', '{"path":"/","status":200}', 'stdout')).toBeUndefined()
})

it('prints once a minute, in plain words, that the app does not respond', () => {
  const printed: string[] = []
  let now = 0
  const output = new Output(
    'summary',
    (line) => printed.push(line),
    () => now,
  )
  output.release()
  const line = JSON.stringify({ level: 'error', code: 'app-away', msg: 'Your app does not respond.' })
  for (now of [0, 1_000, 59_999]) output.log('nginx', line, 'stdout')
  expect(printed).toEqual(['Your app does not respond.'])
  now = 60_000
  output.log('nginx', line, 'stdout')
  expect(printed).toHaveLength(2)
})
