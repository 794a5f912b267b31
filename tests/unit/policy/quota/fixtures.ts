/** Envelopes that pass the stage of quotas, with a clock of the test. */

import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { parseDsn } from '../../../../contract/dsn.ts'
import { UpstreamLimits } from '../../../../tunnel/src/forward/limits/upstream-limits.ts'
import { ClientReports } from '../../../../tunnel/src/pipeline/client-reports.ts'
import { Context, type Outcome } from '../../../../tunnel/src/pipeline/pipeline.ts'
import { createProjects } from '../../../../tunnel/src/pipeline/projects.ts'
import { Quotas, quotaStage } from '../../../../tunnel/src/policy/quota/quotas.ts'
import { parseQuota } from '../../../../tunnel/src/policy/quota/settings.ts'
import { removedItemsStage } from '../../../../tunnel/src/policy/removed-items.ts'
import { EVENT_ID, envelopeOf, type Part } from '../../../support/envelopes.ts'
import { readEnvelope } from '../../../support/read-envelope.ts'

export const HOUR = 60 * 60_000
export const DAY = 24 * HOUR
/** Noon of a day. */
export const NOON = Date.UTC(2026, 10, 23, 12)

export const PROJECT = 'sentry.example/1'
const { all: projects } = createProjects(
  ['https://a@sentry.example/1', 'https://a@sentry.example/2'].flatMap((dsn) => parseDsn(dsn) ?? []),
)

export type Sent = Part['header'] & { payload?: string }
export type Posting = { header?: object; address?: string; project?: number }

/** Quotas with a clock that stands still. */
export class QuotaTest {
  time = NOON
  observed = 0
  readonly quotas: Quotas
  readonly #request = new IncomingMessage(new Socket())

  constructor(daily: string, { hourly = '', mode = 'enforce' as 'enforce' | 'observe' } = {}) {
    const per = (limits: string, period: string) => limits.replaceAll(/=\d+/g, `$&/${period}`)
    this.quotas = new Quotas(
      { ...parseQuota(`${per(daily, 'day')} ${per(hourly, 'hour')}`), mode },
      {
        now: () => this.time,
        onRemoved: () => void this.observed++,
      },
    )
  }

  /** Runs the stage. The envelope has no outcome yet. */
  pass(items: readonly Sent[], { header, address, project = 0 }: Posting = {}): Context {
    const parts = items.map(({ payload = '{}', ...its }) => ({ header: its, payload }))
    const client = { address, requestId: '', isRetry: false }
    const receipt = { id: '', time: 0, items: [], bytes: 0, replica: '' }
    const ctx = new Context(this.#request, client, 0, receipt)
    ctx.envelope = readEnvelope(envelopeOf({ event_id: EVENT_ID, ...header }, parts))
    ctx.project = projects[project] ?? ctx.project
    quotaStage(this.quotas)(ctx)
    return ctx
  }

  /** Runs the stage and those that end the pipeline. Sentry accepts what is left, unless `outcome` says otherwise. */
  send(items: readonly Sent[], posting: Posting = {}, outcome: Outcome['outcome'] = 'delivered'): Outcome {
    const ctx = this.pass(items, posting)
    const ended = removedItemsStage(
      new UpstreamLimits(() => this.time),
      new ClientReports(async () => true, Date.now),
    )(ctx)
    if (ended instanceof Promise) throw new Error('removedItemsStage waits for something')
    const final = ended ?? { outcome, status: 200, body: null, headers: {} }
    ctx.announceOutcome(final)
    return final
  }

  /** Sends envelopes with one item, and returns the number of each outcome, with the reason if there is one. */
  sendMany(count: number, item: Sent, posting: Posting = {}): Record<string, number> {
    const outcomes: Record<string, number> = {}
    for (let i = 0; i < count; i++) {
      const { outcome, reason } = this.send([item], posting)
      const name = [outcome, reason].filter(Boolean).join(' ')
      outcomes[name] = (outcomes[name] ?? 0) + 1
    }
    return outcomes
  }

  used(category: string, period: 'day' | 'hour' = 'day', project = PROJECT) {
    return this.quotas.own(period)[`${project} ${category}`] ?? 0
  }
}
