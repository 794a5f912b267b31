/** Policies in the status and in the metrics of a tunnel. */

import { describe, expect, it } from 'vitest'
import type { ReplicaStatus } from '../../../contract/admin-api.ts'
import { envelopeOf } from '../../support/envelopes.ts'
import { post } from '../../support/post.ts'
import { startSentry } from '../../support/sentry/sentry.ts'
import { openTunnel } from '../../support/tunnel/in-process.ts'

async function statusOf(env: Record<string, string>, messages: readonly string[] = []) {
  await using sentry = await startSentry()
  await using tunnel = await openTunnel({ env: { SENTRY_DSN: sentry.dsn(), ...env } })
  tunnel.advanceTime(60_000 - (Date.now() % 60_000)) // all errors arrive in one minute
  for (const message of messages) {
    const payload = JSON.stringify({ message })
    const body = envelopeOf({ dsn: sentry.dsn() }, [{ header: { type: 'event' }, payload }])
    await post(tunnel.url, { body })
  }
  const status = (await (await tunnel.admin('/status')).json()) as ReplicaStatus
  const metrics = await tunnel.services.metrics.expose()
  const { rules } = tunnel.services.counters.figures()
  return {
    project: status.projects[0],
    policies: status.policies,
    rules,
    metrics,
    text: JSON.stringify(status),
  }
}

describe('The status', () => {
  it('by default shows storm protection that observes, and no other policy', async () => {
    const { policies } = await statusOf({})
    expect(policies).toEqual({ storm: { limit: 100, mode: 'observe', storms: [] }, rules: [] })
  })

  it('shows rules, quotas and storms, and never a message', async () => {
    const secret = 'mail of jane@mail.example'
    const env = { SCRUB: 'default', QUOTA: 'error=1000/day,replay=5/day', STORM_LIMIT: '2' }
    const { project, policies, rules, metrics, text } = await statusOf(env, Array(5).fill(secret))
    expect(policies).toMatchObject({
      scrub: { level: 'default', mode: 'enforce' },
      storm: { limit: 2, mode: 'observe', storms: [{ project, title: 'Message', seen: 5, sent: 2 }] },
      quota: {
        mode: 'enforce',
        quotas: [
          { project, category: 'error', period: 'day', limit: 1000, used: 5 },
          { project, category: 'replay', period: 'day', limit: 5, used: 0 },
        ],
      },
      rules: [
        { policy: 'quota', rule: 'error' },
        { policy: 'quota', rule: 'replay' },
      ],
    })
    expect(rules).toMatchObject({ 'scrub:@email:replace': 5, 'storm:identical errors': 3 })
    expect(text).not.toContain('jane')
    for (const line of [
      `culvert_quota_used{project="${project}",category="error",period="day"} 5`,
      `culvert_quota_limit{project="${project}",category="error",period="day"} 1000`,
      `culvert_storms{project="${project}"} 1`,
    ])
      expect(metrics).toContain(line)
  })

  it('has no storm protection with STORM_LIMIT=0', async () => {
    const { policies } = await statusOf({ STORM_LIMIT: '0', QUOTA: 'error=10/day' })
    expect(policies).not.toHaveProperty('storm')
  })
})
