/** `docs/architecture.md` matches the code, and its example stage works. */

import { readFileSync } from 'node:fs'
import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parseDsn } from '../../../contract/dsn.ts'
import { UpstreamLimits } from '../../../tunnel/src/forward/limits/upstream-limits.ts'
import { ClientReports } from '../../../tunnel/src/pipeline/client-reports.ts'
import { Context, type Outcome } from '../../../tunnel/src/pipeline/pipeline.ts'
import { createProjects } from '../../../tunnel/src/pipeline/projects.ts'
import { removedItemsStage } from '../../../tunnel/src/policy/removed-items.ts'
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

describe('The example stage', () => {
  const [project] = createProjects([parseDsn('https://a@sentry.example/1')].flatMap((dsn) => dsn ?? [])).all

  function contextOf(types: string[], traceId?: string): Context {
    const client = { address: undefined, requestId: 'f'.repeat(32), isRetry: false }
    const receipt = { id: 'r-1', time: 0, items: [], bytes: 0, replica: 'r' }
    const ctx = new Context(new IncomingMessage(new Socket()), client, 0, receipt)
    const trace = traceId === undefined ? {} : { trace: { trace_id: traceId } }
    const header = { event_id: EVENT_ID, ...trace }
    ctx.envelope = readEnvelope(
      envelopeOf(
        header,
        types.map((type) => ({ header: { type }, payload: '{}' })),
      ),
    )
    if (project) ctx.project = project
    return ctx
  }

  function run(
    ctx: Context,
    rate: number,
    reports = new ClientReports(async () => true, Date.now),
  ): Outcome | undefined {
    expect(samplingStage(rate)(ctx)).toBeUndefined()
    const outcome = removedItemsStage(new UpstreamLimits(() => 0), reports)(ctx)
    if (outcome instanceof Promise) throw new Error('removedItemsStage waits for something')
    return outcome
  }

  const LOW = '00000001'.padEnd(32, '0')
  const HIGH = 'fffffff0'.padEnd(32, '0')

  it('keeps transactions of a trace below the rate, and those without a trace', () => {
    for (const traceId of [LOW, undefined]) {
      const ctx = contextOf(['transaction', 'profile'], traceId)
      expect(run(ctx, 0.5)).toBeUndefined()
      expect(typesOf(ctx.remaining().items)).toEqual(['transaction', 'profile'])
    }
  })

  it('removes transactions of a trace above the rate with their dependants, and keeps other items', () => {
    const ctx = contextOf(['transaction', 'profile', 'session'], HIGH)
    expect(run(ctx, 0.5)).toBeUndefined()
    expect(typesOf(ctx.remaining().items)).toEqual(['session'])
    expect(ctx.receipt.items).toEqual([
      { type: 'transaction', bytes: 2, discard_reason: 'storm' },
      { type: 'profile', bytes: 2, discard_reason: 'storm' },
      { type: 'session', bytes: 2 },
    ])
  })

  it('answers as Sentry does, and reports the removed items to Sentry, when no item is left', async () => {
    const posted: string[] = []
    const reports = new ClientReports(
      async (_, envelope) => posted.push(envelope.toString()) > 0,
      () => 0,
    )
    const ctx = contextOf(['transaction'], HIGH)
    const outcome = run(ctx, 0.5, reports) ?? expect.unreachable()
    expect(outcome).toMatchObject({
      outcome: 'filtered',
      reason: 'storm',
      status: 200,
      body: JSON.stringify({ id: EVENT_ID }),
    })
    ctx.announceOutcome(outcome)
    await reports.flush()
    expect(posted).toEqual([
      expect.stringContaining('"filtered_events":[{"reason":"storm","category":"transaction","quantity":1}]'),
    ])
  })
})

describe('Context', () => {
  it('throws when a stage reads a part that no earlier stage has set', () => {
    const receipt = { id: 'r-1', time: 0, items: [], bytes: 0, replica: 'r' }
    const client = { address: undefined, requestId: '', isRetry: false }
    const ctx = new Context(new IncomingMessage(new Socket()), client, 0, receipt)
    expect(() => ctx.envelope).toThrow('the stage that sets the envelope has not run')
  })
})
