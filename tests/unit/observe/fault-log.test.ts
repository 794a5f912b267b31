/** Faults of delivery are logged when they begin and when they end. */

import { describe, expect, it } from 'vitest'
import { FaultLog } from '../../../tunnel/src/observe/fault-log.ts'

const TICK_MS = 100

describe('FaultLog', () => {
  it('logs one line for each fault while it lasts, and one when delivery works again', () => {
    const lines: string[] = []
    let time = 0
    const logger = {
      error: ({ err }: { err: unknown }) => void lines.push(String(err)),
      info: (line: string) => void lines.push(line),
    } as never
    const log = new FaultLog(logger, () => time)
    for (; time < 60_000; time += TICK_MS) {
      log.fault(new Error('disk full'))
      log.fault(new Error('disk broken'))
      log.success() // another entry
    }
    expect(lines).toEqual(['Error: disk full', 'Error: disk broken'])
    time += 10_000
    log.success()
    log.success()
    log.fault(new Error('disk full'))
    expect(lines.slice(2)).toEqual(['the spool works again', 'Error: disk full'])
  })

  it('logs at most ten different faults', () => {
    const lines: unknown[] = []
    const log = new FaultLog({ error: (line: unknown) => lines.push(line), info: () => {} } as never, () => 0)
    for (let n = 0; n < 100; n++) log.fault(new Error(`fault ${n}`))
    expect(lines).toHaveLength(10)
  })
})
