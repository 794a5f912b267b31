/** Reasons of entries that are not pending, and the lines that mend them. */

import { describe, expect, it } from 'vitest'
import { findRemedies } from '../../../../../tunnel/src/admin/remedies.ts'
import { readConfig } from '../../../../../tunnel/src/config/config.ts'
import { nameReason, remedyOf } from '../../../../../web/features/console/spool/entry-reason.ts'

const DSNS = 'https://abc@sentry.example/1 https://def@sentry.example/2'
const settings = findRemedies(readConfig({ SENTRY_DSN: DSNS, SPOOL_HOURS: '10' }))

describe('Reasons of entries', () => {
  it.each([
    [
      '{"detail":"bad envelope","causes":["no item","no header"]}',
      'HTTP 400: bad envelope: no item: no header',
    ],
    ['{"detail":"bad enve', 'HTTP 400: {"detail":"bad enve'],
    ['Request entity too large\n', 'HTTP 400: Request entity too large'],
    ['', 'HTTP 400'],
    [undefined, 'HTTP 400'],
  ])('have what the server has said: %s', (answer, reason) => {
    const given = { state: 'declined', status: 400, project: 'sentry.example/1' } as const
    expect(nameReason({ ...given, ...(answer !== undefined && { answer }) })).toBe(reason)
  })

  it.each([
    ['declined', 403, `SENTRY_DSN=https://abc@sentry.example/1,https://NEW-KEY@sentry.example/2`],
    ['declined', 413, undefined],
    ['expired', undefined, 'SPOOL_HOURS=20'],
  ] as const)('have a line where a setting mends them: %s, %s', (state, status, line) => {
    const entry = { state, project: 'sentry.example/2', ...(status !== undefined && { status }) }
    expect(remedyOf(entry, settings)?.line).toBe(line)
  })

  it('name MIRROR_DSN for a mirror, also of a project that SENTRY_DSN lists', () => {
    const entry = { state: 'declined', status: 403, project: 'sentry.example/2', mirror: true } as const
    const remedy = remedyOf(entry, settings)
    expect(remedy?.sentence).toContain('MIRROR_DSN')
    expect(remedy).not.toHaveProperty('line')
  })

  it('name no line for a project that is no longer configured', () => {
    const entry = { state: 'declined', status: 403, project: 'sentry.example/3' } as const
    expect(remedyOf(entry, settings)).not.toHaveProperty('line')
  })
})
