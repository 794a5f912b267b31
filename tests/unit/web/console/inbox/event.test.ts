/** Events of real SDKs, parsed for display without losses. */

import { describe, expect, it } from 'vitest'
import { parseJson } from '../../../../../web/features/console/inbox/envelope.ts'
import {
  readEvent,
  readLogs,
  readMetrics,
  readSpans,
} from '../../../../../web/features/console/inbox/event.ts'
import { captures } from '../../../../support/sdk-captures.ts'
import { parseEnvelope } from '../../../../support/sentry/received-request.ts'

/** Fields of an event as SDKs write them. */
type Written = {
  exception?: { values: { type: string; value: string; stacktrace?: { frames: unknown[] } }[] }
  breadcrumbs?: unknown[]
  spans?: unknown[]
  tags?: Record<string, unknown>
  user?: unknown
  items?: unknown[]
}

const BATCHES: Record<string, (value: unknown) => unknown[]> = {
  span: readSpans,
  log: readLogs,
  trace_metric: readMetrics,
}

const ITEMS = captures().flatMap(({ name, body }) =>
  parseEnvelope(body).items.map(({ header, payload }) => ({
    ...{ name, type: String(header.type), json: parseJson(String(payload)) as Written },
  })),
)
const EVENTS = ITEMS.filter(({ type }) => ['event', 'transaction', 'feedback'].includes(type))

const countsOf = ({ exception, breadcrumbs = [], spans = [], tags = {}, user }: Written) => ({
  exceptions: (exception?.values ?? []).map(({ type, value, stacktrace }) => [
    type,
    value,
    stacktrace?.frames.length,
  ]),
  ...{ breadcrumbs: breadcrumbs.length, spans: spans.length, tags: Object.keys(tags).length },
  ...{ user: user !== undefined },
})

describe('A captured event of a real SDK', () => {
  it('is parsed with all exceptions, frames, breadcrumbs, spans and tags', () => {
    for (const { name, json } of EVENTS) {
      const read = readEvent(json)
      const exceptions = read?.exception.map(({ type, value, stacktrace }) => [
        type,
        value,
        stacktrace?.frames.length,
      ])
      const { breadcrumbs, spans, tags, user } = read ?? {}
      const counts = { breadcrumbs: breadcrumbs?.length, spans: spans?.length, tags: tags?.length }
      expect([name, { exceptions, ...counts, user: user !== undefined }]).toEqual([name, countsOf(json)])
    }
  })

  it('is parsed with all spans, log lines and metrics of a container', () => {
    for (const { name, type, json } of ITEMS) {
      const read = BATCHES[type]
      if (read && json.items) expect([name, read(json).length]).toEqual([name, json.items.length])
    }
  })
})
