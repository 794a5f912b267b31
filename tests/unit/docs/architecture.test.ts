/** `docs/architecture.md` matches the code, and its example stage works. */

import { readFileSync } from 'node:fs'
import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Context } from '../../../tunnel/src/pipeline/pipeline.ts'
import { EVENT_ID, envelopeOf } from '../../support/envelopes.ts'
import { ROOT } from '../../support/node.ts'
import { readEnvelope, typesOf } from '../../support/read-envelope.ts'
import { samplingStage } from './sampling-stage.ts'

const read = (file: string) => readFileSync(resolve(ROOT, file), 'utf8')
const page = read('docs/architecture.md')

describe('docs/architecture.md', () => {
  it('shows the example stage that the tests below run', () => {
    const [, shown] = /```ts\n\/\/ tunnel\/src\/policy\/sampling\.ts\n(.*?)```/s.exec(page) ?? []
    const example = read('tests/unit/docs/sampling-stage.ts')
    // `sampled` is no reason of the contract until somebody adds the stage.
    expect(shown).toBe(example.replaceAll('../../../tunnel/src/', '../').replace("'storm'", "'sampled'"))
  })

  it('names every stage of the pipeline, in order', () => {
    const lists = read('tunnel/src/http/ingest.ts').matchAll(
      /function list(?:Receiving|Envelope)Stages.*?return \[\n(.*?)\n {2}\]/gs,
    )
    const list = Array.from(lists, ([, stages]) => stages).join('\n')
    const stages = [...list.matchAll(/^ {4}(?:\.\.\.|\w+ && |.* \? undefined : |\w+ \? )?(\w+)/gm)].map(
      ([, name = '']) => name,
    )
    expect(stages.length).toBeGreaterThan(10)
    const documented = [...page.matchAll(/^\| \d+ \| [^|]+ \| `(\w+)`/gm)].map(([, name = '']) => name)
    expect(documented).toEqual(stages)
  })
})

it('The example stage removes transactions of a trace above the rate with their dependants, and keeps other items', () => {
  const ctx = newContext()
  const header = { event_id: EVENT_ID, trace: { trace_id: 'fffffff0'.padEnd(32, '0') } }
  const items = ['transaction', 'profile', 'session'].map((type) => ({ header: { type }, payload: '{}' }))
  ctx.envelope = readEnvelope(envelopeOf(header, items))
  expect(samplingStage(0.5)(ctx)).toBeUndefined()
  expect(typesOf(ctx.remaining().items)).toEqual(['session'])
  expect([...ctx.removed.values()]).toEqual(['storm', 'storm'])
})

it('A context throws when a stage reads a part that no earlier stage has set', () => {
  expect(() => newContext().envelope).toThrow('the stage that sets the envelope has not run')
})

function newContext(): Context {
  const client = { address: undefined, requestId: 'f'.repeat(32), isRetry: false }
  const receipt = { id: 'r-1', time: 0, items: [], bytes: 0, replica: 'r' }
  return new Context(new IncomingMessage(new Socket()), client, 0, receipt)
}
