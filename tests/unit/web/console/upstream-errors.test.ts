/** Errors of delivery attempts in words. */

import { describe, expect, it } from 'vitest'
import type { LastUpstreamError } from '../../../../contract/upstream.ts'
import {
  countUpstreamErrors,
  describeReceiptError,
  describeUpstreamError,
  remedyOfStatus,
} from '../../../../web/features/console/upstream-errors.ts'
import { formatMinute } from '../../../../web/lib/format.ts'

const first = Date.UTC(2026, 7, 14, 10, 31)
const DNS: LastUpstreamError = { class: 'dns', code: 'ENOTFOUND', first, last: first + 1, count: 12 }

describe('Descriptions of upstream errors', () => {
  it('contain class, host, code, count and the time of the first one', () => {
    expect(countUpstreamErrors('sentry.example', DNS)).toBe(
      `DNS: no address for sentry.example (ENOTFOUND), 12 times since ${formatMinute(first)}`,
    )
  })

  it('contain the status of a response', () => {
    const error: LastUpstreamError = { class: 'http-5xx', status: 503, first, last: first, count: 1 }
    expect(describeUpstreamError('sentry.example', error)).toBe('HTTP 5xx: sentry.example fails (503)')
  })

  it('name a remedy for each answer that an operator has to mend, and none for others', () => {
    expect(remedyOfStatus(200)).toContain('the host in SENTRY_DSN')
    for (const status of [401, 403, 404]) expect(remedyOfStatus(status)).toContain('key in SENTRY_DSN')
    for (const status of [400, 405, 415]) expect(remedyOfStatus(status)).toContain('settings of the server')
    for (const status of [429, 500, 503]) expect(remedyOfStatus(status)).toBe('')
  })

  it('say for a receipt why its envelope was not delivered at once', () => {
    expect(describeReceiptError('sentry.example', 'dns')).toBe('DNS: no address for sentry.example')
    expect(describeReceiptError('sentry.example', 'breaker-open')).toContain('circuit breaker')
    expect(describeReceiptError('sentry.example', 'late')).toContain('did not respond in time')
  })
})
