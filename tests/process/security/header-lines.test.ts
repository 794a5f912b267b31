/** Random header lines: each gets a defined response within 2.5 s. */

import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { requires } from '../../support/requirements.ts'
import { faultOf, send } from '../../support/security/attack.ts'
import type { Attack } from '../../support/security/corpus.ts'
import { type CountingSentry, startCountingSentry } from '../../support/security/counting-sentry.ts'
import { type SmallTunnel, startSmallTunnel } from '../../support/security/small-tunnel.ts'

const RUNS = 1_000
const MAX_SECONDS = 2.5

const MEMBERS = [
  'dsn',
  'event_id',
  'sent_at',
  'sdk',
  'trace',
  'type',
  'length',
  'item_count',
  'forwarded_for',
]

const members = fc.dictionary(
  fc.oneof(fc.constantFrom(...MEMBERS), fc.string({ unit: 'binary' })),
  fc.jsonValue(),
)

/** Returns a JSON object, or its text after a few bytes were replaced, removed or repeated. */
const line = fc
  .tuple(
    members.map((value) => Buffer.from(JSON.stringify(value))),
    fc.array(fc.record({ at: fc.nat(), byte: fc.nat(255), times: fc.nat(3_000) }), { maxLength: 2 }),
  )
  .map(([text, changes]) => {
    let bytes = text
    for (const { at, byte, times } of changes) {
      const place = at % bytes.length
      bytes = Buffer.concat([bytes.subarray(0, place), Buffer.alloc(times, byte), bytes.subarray(place + 1)])
      if (bytes.length === 0) bytes = Buffer.from('{')
    }
    return bytes
  })

describe('A random header line', requires('proc'), () => {
  const started = new AsyncDisposableStack()
  let sentry: CountingSentry
  let tunnel: SmallTunnel

  beforeAll(async () => {
    sentry = started.use(await startCountingSentry())
    tunnel = started.use(await startSmallTunnel(sentry.dsn))
  })

  afterAll(() => started.disposeAsync())

  it('gets a defined response within 2.5 s as the header of an envelope', async () => {
    await answerAll((bytes) => Buffer.concat([bytes, Buffer.from('\n{"type":"event","length":2}\n{}\n')]))
  })

  it('gets a defined response within 2.5 s as the header of an item', async () => {
    const first = Buffer.from(`{"dsn":"${sentry.dsn}"}\n`)
    await answerAll((bytes) => Buffer.concat([first, bytes, Buffer.from('\n{}\n')]))
  })

  async function answerAll(envelopeOf: (bytes: Buffer) => Buffer): Promise<void> {
    const answered = fc.asyncProperty(line, async (bytes) => {
      const attack: Attack = { name: 'random', headers: {}, body: envelopeOf(bytes), isValid: true }
      const outcome = await send(tunnel.url, attack, { deadlineMs: 5_000 })
      expect(faultOf(attack, outcome)).toBeUndefined()
      expect(outcome.seconds).toBeLessThan(MAX_SECONDS)
    })
    await fc.assert(answered, { numRuns: RUNS })
    expect(await tunnel.isAlive()).toBe(true)
  }
})
