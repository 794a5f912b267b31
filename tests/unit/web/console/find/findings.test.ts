/** Findings about an event, from the answers of several replicas. */

import { describe, expect, it } from 'vitest'
import type { Receipt, SpoolOutcome } from '../../../../../contract/admin-api.ts'
import type { EntryState, StoreEntry } from '../../../../../contract/store.ts'
import {
  type EventAnswers,
  isNeverSeen,
  readFindings,
} from '../../../../../web/features/console/find/findings.ts'

const EVENT = 'f'.repeat(32)

function receiptOf(outcome: Receipt['outcome'], about: Partial<Receipt> = {}): Receipt {
  const common = { id: 'r-1', time: 1, project: 'a/1', event_id: EVENT, items: [], bytes: 1, duration_ms: 1 }
  return { ...common, outcome, status: 200, replica: 'r', ...about }
}

function outcomeOf(final_outcome: SpoolOutcome['final_outcome'], time: number): SpoolOutcome {
  const common = { receipt: 'r-1', event_id: EVENT, waited_ms: 1, project: 'a/1', category: 'error' }
  return { ...common, final_outcome, time, replica: 'q' }
}

function entryOf(state: EntryState, about: Partial<StoreEntry> = {}): StoreEntry {
  const common = { id: `1-${state}`, receipt: 'r-1', event_id: EVENT, project: 'a/1', category: 'error' }
  return { ...common, state, bytes: 1, received: 1, stored: true, ...about }
}

/** Returns the answers of replicas, each of which has some parts. */
function answersOf(
  ...replicas: {
    receipts?: Receipt[]
    outcomes?: SpoolOutcome[]
    entries?: StoreEntry[]
    since?: number
    isElsewhere?: boolean
  }[]
): EventAnswers {
  return {
    events: replicas.map(
      ({ receipts = [], outcomes = [], entries = [], since = 0, isElsewhere = false }) => ({
        ...{
          event_id: EVENT,
          receipts,
          final_outcomes: outcomes,
          entries,
          receipts_since: since,
          isElsewhere,
        },
      }),
    ),
    silent: 0,
    stoppedAt: 0,
  }
}

const statesOf = (answers: EventAnswers) => readFindings(answers).findings.map(({ state }) => state)

describe('Findings about an event', () => {
  it('join the receipt of one replica, the final outcome of another, and the entry that both list', () => {
    const shared = [entryOf('declined')]
    const answers = answersOf(
      { receipts: [receiptOf('spooled')], entries: shared },
      { outcomes: [outcomeOf('declined', 5)], entries: shared },
    )
    expect(statesOf(answers)).toEqual(['declined'])
  })

  it.each<[string, EventAnswers, string]>([
    ['accepted at once', answersOf({ receipts: [receiptOf('delivered')] }), 'delivered'],
    [
      'accepted at once, with a kept copy',
      answersOf({ receipts: [receiptOf('delivered')], entries: [entryOf('kept')] }),
      'delivered',
    ],
    ['kept, without its receipt', answersOf({ entries: [entryOf('kept')] }), 'kept'],
    ['pending', answersOf({ receipts: [receiptOf('spooled')], entries: [entryOf('pending')] }), 'pending'],
    [
      'kept, and sent again',
      answersOf({ receipts: [receiptOf('delivered')], entries: [entryOf('pending'), entryOf('kept')] }),
      'pending',
    ],
    [
      'declined, sent again and delivered',
      answersOf({
        receipts: [receiptOf('spooled')],
        outcomes: [outcomeOf('delivered', 9), outcomeOf('declined', 5)],
      }),
      'delivered',
    ],
    [
      'sent again while a replica still listed it as declined',
      answersOf({ entries: [entryOf('pending')] }, { entries: [entryOf('declined')] }),
      'pending',
    ],
    [
      'declined, and sent again',
      answersOf({ outcomes: [outcomeOf('declined', 5)], entries: [entryOf('pending')] }),
      'pending',
    ],
    ['spooled, with its end unknown', answersOf({ receipts: [receiptOf('spooled')] }), 'lost-track'],
    ['rejected', answersOf({ receipts: [receiptOf('rejected')] }), 'rejected'],
  ])('name the state of an envelope that was %s', (_, answers, state) => {
    expect(statesOf(answers)).toEqual([state])
  })

  it('tell an envelope apart from its copy for a mirror, and two envelopes of an event, the newest first', () => {
    const answers = answersOf({
      receipts: [receiptOf('delivered'), receiptOf('filtered', { id: 'r-2', time: 2 })],
      entries: [entryOf('declined', { project: 'b/1' })],
    })
    expect(statesOf(answers)).toEqual(['filtered', 'delivered', 'declined'])
  })

  it('say which entries are in another store', () => {
    const shared = { receipts: [receiptOf('spooled')], entries: [entryOf('declined')] }
    const other = { entries: [entryOf('kept', { receipt: 'r-2', received: 0 })], isElsewhere: true }
    const { findings } = readFindings(answersOf(shared, other))
    expect(findings.map(({ isElsewhere = false }) => isElsewhere)).toEqual([false, true])
  })

  it('are certain of an event that never arrived only if every replica has answered, since the last of them knows it', () => {
    const answers = { ...answersOf({ since: 3 }, { since: 7 }), stoppedAt: 5 }
    expect(readFindings(answers)).toMatchObject({ findings: [], since: 7 })
    expect(readFindings({ ...answers, stoppedAt: 9 })).toMatchObject({ since: 9 })
    expect(isNeverSeen(readFindings(answers))).toBe(true)
    expect(isNeverSeen(readFindings({ ...answers, silent: 1 }))).toBe(false)
    expect(isNeverSeen(readFindings(answersOf()))).toBe(false)
  })
})
