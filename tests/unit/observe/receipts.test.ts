/** Receipts: counted, logged and stored for a time, one per envelope. */

import { beforeEach, describe, expect, it } from 'vitest'
import type { Receipt, SpoolOutcome } from '../../../contract/admin-api.ts'
import { describeHeader } from '../../../tunnel/src/envelope/summary.ts'
import { Receipts } from '../../../tunnel/src/observe/receipts.ts'
import { heldBytes } from '../../support/heap-usage.ts'
import { readEnvelope } from '../../support/read-envelope.ts'

const MINUTE = 60_000

function receiptOf(id: string, time = 0): Receipt {
  return { id, time, items: [], bytes: 1, outcome: 'delivered', status: 200, duration_ms: 1, replica: 'r' }
}

function endOf(receipt: string): SpoolOutcome {
  const about = { project: 'p', category: 'error', replica: 'r' }
  return { receipt, final_outcome: 'delivered', time: 0, waited_ms: 1, ...about }
}

describe('Receipts', () => {
  let now: number
  let counted: Receipt[]
  let lines: { name: string; told: Receipt }[]
  let receipts: Receipts

  beforeEach(() => {
    now = 0
    counted = []
    lines = []
    const metrics = {
      count: (receipt: Receipt) => void counted.push(receipt),
      countFinalOutcome: () => {},
      expose: async () => '',
    }
    const log = {
      recordEvent: (name: string, json: string) => void lines.push({ name, told: JSON.parse(json) }),
    }
    receipts = new Receipts(metrics, log, () => now)
  })

  const settle = (count: number) => {
    for (let i = 0; i < count; i++) receipts.record(receiptOf(`e${receipts.newest() + 1}`, now))
  }
  const toldAfter = (seq: number) => receipts.after(seq, 50_000)
  const idsAfter = (seq: number, most = 50_000) =>
    receipts.after(seq, most).events.map(({ event, json }) => {
      const told = JSON.parse(json)
      return event === 'receipt' ? told.id : told.receipt
    })

  it('are counted once, logged once and numbered from 1', () => {
    settle(3)
    expect(counted.map(({ id }) => id)).toEqual(['e1', 'e2', 'e3'])
    expect(lines.map(({ name, told }) => [name, told.id])).toEqual(counted.map(({ id }) => ['receipt', id]))
    expect(receipts.newest()).toBe(3)
    expect(toldAfter(0).first).toBe(1)
    expect(idsAfter(0)).toEqual(['e1', 'e2', 'e3'])
  })

  it('are returned after any sequence number', () => {
    settle(5)
    expect(idsAfter(3)).toEqual(['e4', 'e5'])
    expect(idsAfter(5)).toEqual([])
    expect(idsAfter(1, 2)).toEqual(['e2', 'e3'])
  })

  it('are returned in one sequence with the final outcomes of spooled envelopes', async () => {
    settle(2)
    const wait = receipts.next(new AbortController().signal)
    receipts.recordFinalOutcome(endOf('e1'))
    await wait
    settle(1)
    expect(idsAfter(0)).toEqual(['e1', 'e2', 'e1', 'e4'])
    expect(toldAfter(2).events[0]).toEqual({ event: 'final_outcome', json: JSON.stringify(endOf('e1')) })
    expect(receipts.newest()).toBe(4)
  })

  it('are found by their tokens after 39,999 final outcomes', () => {
    const token = receipts.record(receiptOf('e1'))
    for (let n = 0; n < 39_999; n++) receipts.recordFinalOutcome(endOf('e0'))
    expect(receipts.find(token)?.id).toBe('e1')
  })

  it('are kept up to 40,000, and return the number of the oldest one', () => {
    settle(40_345)
    const kept = idsAfter(0)
    expect([toldAfter(0).first, kept.length, kept[0], kept.at(-1)]).toEqual([346, 40_000, 'e346', 'e40345'])
    expect(toldAfter(345).first).toBe(346)
    expect(idsAfter(40_344)).toEqual(['e40345'])
  })

  it('are found by a random token of 128 bits, and by nothing else', () => {
    const tokens = Array.from({ length: 1_000 }, (_, i) => receipts.record(receiptOf(`e${i}`)))
    expect(new Set(tokens).size).toBe(1_000)
    for (const token of tokens) expect(token).toMatch(/^[0-9a-f]{32}$/)
    expect(receipts.find(tokens[7] ?? '')?.id).toBe('e7')
    receipts.recordFinalOutcome(endOf('e7')) // it has no token, also not one of zeros
    for (const none of ['', 'e7', '0'.repeat(32), '\0'.repeat(32), '__proto__'])
      expect(receipts.find(none)).toBeUndefined()
  })

  it('are found by their token for 10 min', () => {
    const token = receipts.record(receiptOf('e1'))
    now = 10 * MINUTE - 1
    expect(receipts.find(token)?.id).toBe('e1')
    now = 10 * MINUTE
    expect(receipts.find(token)).toBeUndefined()
  })

  it('are found by their token among the last 40,000', () => {
    const first = receipts.record(receiptOf('first'))
    const second = receipts.record(receiptOf('second'))
    settle(39_999)
    expect(receipts.find(first)).toBeUndefined()
    expect(receipts.find(second)?.id).toBe('second')
  })

  it('are found by their event with the final outcomes, newest first, with the time since when all are kept', async () => {
    now = 5
    settle(1)
    const eventId = 'f'.repeat(32)
    for (const id of ['first', 'second']) receipts.record({ ...receiptOf(id), event_id: eventId })
    receipts.recordFinalOutcome(endOf(eventId)) // of a receipt with this ID
    for (const id of ['first', 'second']) receipts.recordFinalOutcome({ ...endOf(id), event_id: eventId })
    const { receipts: found, finalOutcomes, since } = await receipts.ofEvent(eventId)
    expect(found.map(({ id }) => id)).toEqual(['second', 'first'])
    expect(finalOutcomes.map(({ receipt }) => receipt)).toEqual(['second', 'first'])
    expect(since).toBe(0)
    settle(40_000)
    expect(await receipts.ofEvent(eventId)).toEqual({ receipts: [], finalOutcomes: [], since: 5 })
  })

  it('wake all waiting readers once', async () => {
    const waits = [1, 2, 3].map(() => receipts.next(new AbortController().signal))
    settle(1)
    await Promise.all(waits)
    let woken = false
    const wait = receipts.next(new AbortController().signal).then(() => {
      woken = true
    })
    await Promise.resolve()
    expect(woken).toBe(false)
    settle(1)
    await wait
  })

  it('end the wait of a reader that aborts', async () => {
    const leaving = new AbortController()
    const wait = receipts.next(leaving.signal)
    leaving.abort()
    await wait
    await receipts.next(leaving.signal)
  })

  it('keep only the shown part of an SDK name in memory', () => {
    const name = 'x'.repeat(60_000)
    const described: Pick<Receipt, 'sdk'>[] = []
    const before = heldBytes()
    for (let n = 0; n < 200; n++) {
      const receipt: Pick<Receipt, 'sdk'> = {}
      describeHeader(receipt, readEnvelope(Buffer.from(`{"sdk":{"name":"${n}${name}"}}\n`)).header)
      described.push(receipt)
    }
    expect(heldBytes() - before).toBeLessThan((200 * name.length) / 4)
    expect(described[7]?.sdk).toBe(`7${name}`.slice(0, 64))
  })
})
