/** What `npm start` shows of the processes' logs. */

import { expect, it } from 'vitest'
import { tellLine } from '../../../scripts/log-lines.ts'

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

it('an envelope is told as what became of it, what was in it, how large it was and how long it took', () => {
  const told = tellLine('tunnel-1', lineOf(RECEIPT), 'stdout')
  expect(told).toBe('tunnel-1  delivered  event, attachment  2.1 KB in 34 ms')
})

it('an envelope that was refused is told with the reason and the status', () => {
  const refused = { ...RECEIPT, outcome: 'rejected', reason: 'query-mismatch', status: 400, items: [] }
  const told = tellLine('tunnel-1', lineOf(refused), 'stdout')
  expect(told).toBe('tunnel-1  rejected (query-mismatch, 400)  no items  2.1 KB in 34 ms')
})

it('of other log lines only warnings and errors are shown', () => {
  const line = (level: string) => JSON.stringify({ level, msg: 'so it is' })
  expect(['info', 'warn', 'error'].map((level) => tellLine('tunnel-2', line(level), 'stdout'))).toEqual([
    undefined,
    'tunnel-2  {"level":"warn","msg":"so it is"}',
    'tunnel-2  {"level":"error","msg":"so it is"}',
  ])
})

it('of words without a level those on stderr are shown', () => {
  expect(tellLine('web', '✓ Ready in 50ms', 'stdout')).toBeUndefined()
  expect(tellLine('web', 'Error: broken', 'stderr')).toBe('web  Error: broken')
  expect(tellLine('nginx', '{"path":"/","status":200}', 'stdout')).toBeUndefined()
})
