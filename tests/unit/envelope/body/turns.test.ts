/** Turns of large bodies: four at a time, in order. */

import { createServer, IncomingMessage, request } from 'node:http'
import { Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { Bodies } from '../../../../tunnel/src/envelope/body/bodies.ts'
import { MemoryBudget } from '../../../../tunnel/src/envelope/body/memory-budget.ts'
import { Turns } from '../../../../tunnel/src/envelope/body/turns.ts'
import { listen } from '../../../support/listen.ts'

const MIB = 1024 * 1024
const UPLOADS = 12
const SENT_BYTES = 900 * 1024 // of each, then its sender stops
const FIRST_BYTES = 256 * 1024 // more than the chunk that arrives before a turn

describe('Turns', () => {
  let begun: number[]
  let ends: (() => void)[]

  beforeEach(() => {
    vi.useFakeTimers()
    begun = []
    const turns = new Turns()
    ends = Array.from({ length: 7 }, (_, n) => turns.take(() => begun.push(n)))
  })

  afterEach(() => {
    for (const end of ends) end()
    vi.useRealTimers()
  })

  it('run four at a time, and start the next one in order when one ends', () => {
    expect(begun).toEqual([0, 1, 2, 3])
    ends[2]?.()
    ends[0]?.()
    expect(begun).toEqual([0, 1, 2, 3, 4, 5])
  })

  it('are released only once when they are ended twice', () => {
    ends[0]?.()
    ends[0]?.()
    expect(begun).toEqual([0, 1, 2, 3, 4])
  })

  it('skip an entry that has left the queue', () => {
    ends[4]?.()
    ends[0]?.()
    expect(begun).toEqual([0, 1, 2, 3, 5])
  })

  it('end after 1 s when the sender has stopped sending', () => {
    vi.advanceTimersByTime(1_000)
    expect(begun).toEqual([0, 1, 2, 3, 4, 5, 6])
  })
})

const SETTINGS = {
  ...{ maxBytes: 4 * MIB, shareBytes: 4 * MIB, timeoutMs: 60_000, dir: '/nowhere' },
  onFileFault: () => {},
}

describe('Bodies whose Content-Length is above 1 MiB', () => {
  it('are received four at a time from their first bytes on', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }) // or turns would end after a second
    onTestFinished(() => void vi.useRealTimers())
    const bodies = new Bodies(SETTINGS, new MemoryBudget(100 * MIB, 0))
    const received: number[] = []
    const server = createServer((incoming) => {
      const n = received.push(0) - 1
      const count = (chunk: Buffer) => {
        received[n] = (received[n] ?? 0) + chunk.length
      }
      bodies.receive(incoming, count).catch(() => {})
    })
    await using listening = await listen(server)
    const { port } = listening
    const options = { port, method: 'POST', headers: { 'content-length': 2 * MIB }, agent: false }
    for (let n = 0; n < UPLOADS; n++)
      request(options)
        .on('error', () => {})
        .write(Buffer.alloc(SENT_BYTES))
    await expect.poll(() => received).toHaveLength(UPLOADS)
    await expect.poll(() => received.filter((bytes) => bytes === SENT_BYTES)).toHaveLength(4)
    expect(received.filter((bytes) => bytes > FIRST_BYTES)).toHaveLength(4)
  })
  it('do not wait for a turn when they are complete', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const bodies = new Bodies(SETTINGS, new MemoryBudget(100 * MIB, 0))
    const announced = MIB + 2 // the last chunk exceeds the first turn
    const begin = () => {
      const incoming = new IncomingMessage(new Socket())
      incoming.headers['content-length'] = String(announced)
      const body = bodies.receive(incoming, () => {})
      incoming.push('1')
      return { incoming, body }
    }
    const [first, ...others] = Array.from({ length: 5 }, begin)
    await new Promise(setImmediate) // each has had its first byte
    first?.incoming.push(Buffer.alloc(announced - 1))
    first?.incoming.push(null)
    expect((await first?.body)?.wireBytes).toBe(announced)
    for (const { incoming, body } of others) {
      incoming.destroy()
      await expect(body).rejects.toThrow()
    }
  })
})
