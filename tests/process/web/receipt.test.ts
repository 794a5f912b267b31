/** Receipt of a visitor, found by its token until it expires. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Receipt } from '../../../contract/admin-api.ts'
import { Receipts } from '../../../tunnel/src/observe/receipts.ts'
import { startUpstream, type Upstream } from '../../support/recording-server.ts'
import { startWeb, type Web } from '../../support/web/web.ts'

const MINUTE = 60_000

const SETTLED: Receipt = {
  id: 'e1',
  time: 0,
  items: [],
  bytes: 1,
  outcome: 'delivered',
  status: 200,
  duration_ms: 1,
  replica: 'r',
}

describe('A receipt', () => {
  const started = new AsyncDisposableStack()
  const metrics = { count: () => {}, countFinalOutcome: () => {}, expose: async () => '' }
  let now = 0
  const receipts = new Receipts(metrics, { recordEvent: () => {} }, () => now)
  let admin: Upstream
  let web: Web

  beforeAll(async () => {
    admin = started.use(
      await startUpstream('tunnel', ({ url }, response) => {
        const receipt = receipts.find(url.replace('/receipts/', ''))
        response.statusCode = receipt ? 200 : 404
        response.end(JSON.stringify(receipt ?? {}))
      }),
    )
    web = started.use(await startWeb({ TUNNEL_ADMIN: admin.address, ADMIN_TOKEN: 'x'.repeat(32) }))
  }, 180_000)

  afterAll(() => started.disposeAsync())

  it('is returned for its token for ten minutes, and then deleted in web too', async () => {
    const token = receipts.record(SETTLED)
    const ask = () => fetch(`${web.url}/console/public/receipt.json?token=${token}`)

    now = 10 * MINUTE - 1
    const told = await ask()
    expect(told.headers.get('cache-control')).toBe('no-store')
    const { id: _, replica: __, ...forVisitors } = SETTLED
    expect(await told.json()).toEqual(forVisitors)

    now = 10 * MINUTE
    const forgotten = await ask()
    expect(forgotten.status).toBe(404)
    expect(await forgotten.json()).toEqual({
      detail: 'No receipt has this token. Receipts are kept for at most 10 minutes.',
    })
    expect(admin.asked).toHaveLength(2)
  })
})
