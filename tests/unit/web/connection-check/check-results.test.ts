/** Results of the connection check for each pair of findings. */

import { describe, expect, it } from 'vitest'
import {
  describeTunnel,
  type Findings,
  judge,
} from '../../../../web/features/connection-check/check-results.ts'
import type { Attempt } from '../../../../web/features/connection-check/probe.ts'

const plan = { dsn: '', tunnel: '/monitoring', direct: 'https://o1.ingest.sentry.io/api/2/envelope/' }
const answered = (status: number): Attempt => ({ outcome: 'answered', status, durationMs: 1 })
const spooled: Attempt = { outcome: 'answered', status: 200, isSpooled: true, durationMs: 1 }
const stopped: Attempt = { outcome: 'stopped', durationMs: 1 }
const unreadable: Attempt = { outcome: 'unreadable', durationMs: 1 }
const forbidden: Attempt = { outcome: 'forbidden', durationMs: 1 }
const late: Attempt = { outcome: 'late', durationMs: 1 }

describe('The result of the connection check', () => {
  it('is undefined until both routes are tested', () => {
    expect(judge(plan, { tunnel: answered(200) })).toBeUndefined()
    expect(judge(plan, { direct: stopped })).toBeUndefined()
  })

  it.each([
    [answered(200), spooled, 'This site stores reports and delivers them later.'],
    [stopped, spooled, 'Sentry is unreachable, both from this browser and from this site.'],
    [answered(200), answered(503), 'Reports from this browser do not arrive.'],
    [unreadable, spooled, 'This site stores reports and delivers them later.'],
    [forbidden, spooled, 'This site stores reports and delivers them later.'],
    [answered(200), answered(200), 'Reports from this browser arrive on both routes.'],
    [
      answered(429),
      answered(200),
      'Reports arrive through this site. On the direct route, Sentry responded but accepted none.',
    ],
    [late, answered(200), 'Reports arrive, but only through this site.'],
    [unreadable, answered(200), 'Reports arrive through this site. This page cannot judge the direct route.'],
    [late, late, 'Reports from this browser do not arrive.'],
  ])('for %o on the direct route and %o through this site is: %s', (direct, tunnel, headline) => {
    expect(judge(plan, { direct, tunnel })?.headline).toBe(headline)
  })

  it('uses the outcome in the receipt when it differs from the status', () => {
    const found: Findings = { direct: answered(200), tunnel: spooled, receipt: { outcome: 'filtered' } }
    expect(judge(plan, found)?.headline).toBe('Reports from this browser arrive on both routes.')
  })

  it('distinguishes a response of Sentry from a rejection by this site', () => {
    const found: Findings = { direct: stopped, tunnel: answered(403), receipt: { outcome: 'declined' } }
    expect(judge(plan, found)?.text).toMatch(/^Sentry declined the report\./)
    expect(describeTunnel(plan, found).text).toBe(
      'This site forwarded the report, and Sentry declined it (403).',
    )
  })
})
