/** Access to the simulated outage. */

import { describe, expect, it } from 'vitest'
import { canSimulateOutage } from '../../../../web/features/lab/access.ts'
import { readConfig } from '../../../../web/lib/config.ts'

const TOKEN = { ADMIN_TOKEN: 'a token of the admin port for this test' }
const DSN = { SENTRY_DSN: 'https://key@o1.ingest.us.sentry.io/2' }

describe('canSimulateOutage', () => {
  it.each([
    ['allows it in inbox mode', TOKEN, true],
    ['refuses it without the lab', { ...TOKEN, LAB: 'off' }, false],
    ['refuses it without access to the tunnels', {}, false],
    ['refuses it with a DSN, also with the lab', { ...TOKEN, ...DSN, LAB: 'on' }, false],
  ])('%s', (_, env, expected) => {
    expect(canSimulateOutage(readConfig(env, []))).toBe(expected)
  })
})
