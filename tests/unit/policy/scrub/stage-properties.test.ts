/** Properties of the scrubbing stage, for envelopes of any items. */

import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createRangeRemover } from '../../../../tunnel/src/envelope/body/ranges.ts'
import { Context } from '../../../../tunnel/src/pipeline/pipeline.ts'
import { Scrubbing } from '../../../../tunnel/src/policy/scrub/scrub.ts'
import { scrubStage } from '../../../../tunnel/src/policy/scrub/scrub-stage.ts'
import { envelopeOf, type Part } from '../../../support/envelopes.ts'
import { readEnvelope } from '../../../support/read-envelope.ts'
import { DEFAULT, scrubText } from './scrub-json.ts'

const SECRET = 'jane@mail.example'
const PAYLOADS = [
  ...['{}', '[]', '{"a":1}', `{"message":"${SECRET}"}`, `{"message":"é ${SECRET}","token":{"a":1}}`],
  ...[`"${SECRET}"`, '{', '', `{"a":"${SECRET}"`],
]
const TYPES = ['event', 'transaction', 'span', 'user_report', 'session', 'attachment', 'unknown']

const part = fc.record({
  type: fc.constantFrom(...TYPES),
  payload: fc.constantFrom(...PAYLOADS),
  hasLength: fc.boolean(),
  filename: fc.constantFrom('a', 'é'),
})

function toPart({ type, payload, hasLength, filename }: Chosen): Part {
  const header = {
    type,
    filename,
    ...((hasLength || payload === '') && { length: Buffer.byteLength(payload) }),
  }
  return { header, payload }
}

type Chosen = { type: string; payload: string; hasLength: boolean; filename: string }

function isJson(payload: string): boolean {
  try {
    JSON.parse(payload)
    return true
  } catch {
    return false
  }
}

it('the outgoing body is an envelope of scrubbed items with the right lengths, and of all others unmodified', () => {
  const settings = {
    level: 'default',
    mode: 'enforce',
    attachments: 'pass',
    selected: [],
    users: { kind: 'remove' },
  } as const
  const scrubbing = new Scrubbing(settings, () => {})
  fc.assert(
    fc.property(fc.array(part, { minLength: 1, maxLength: 5 }), (chosen) => {
      const body = envelopeOf({ trace: { user_id: SECRET } }, chosen.map(toPart))
      const client = { address: undefined, requestId: '', isRetry: false }
      const receipt = { id: '', time: 0, items: [], bytes: 0, replica: '' }
      const ctx = new Context(new IncomingMessage(new Socket()), client, 0, receipt)
      ctx.envelope = readEnvelope(body, (type) => scrubbing.reads(type))
      scrubStage(scrubbing)(ctx)
      const outgoing = Buffer.concat(createRangeRemover(ctx.outgoingRanges())(body))
      const { items } = readEnvelope(outgoing)
      expect(outgoing.toString()).toMatch(/^\{"trace":\{"user_id":"\[email\]"\}\}\n/)
      const removedParent = chosen.some(
        ({ type, payload }) => (type === 'event' || type === 'transaction') && !isJson(payload),
      )
      const expected = chosen
        .filter(({ type, payload }) => !scrubbing.reads(type) || isJson(payload))
        .filter(({ type }) => type !== 'attachment' || !removedParent)
        .map(({ type, payload }) =>
          scrubbing.reads(type)
            ? scrubText(DEFAULT, payload, type, type === 'user_report' ? 'plain' : 'event')
            : payload,
        )
      expect(items.map((item) => Buffer.concat(item.payload).toString())).toEqual(expected)
    }),
    { numRuns: 500 },
  )
})
