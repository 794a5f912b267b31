/** Findings of the doctor as warnings of the status. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTunnel, type Tunnel } from '../../support/tunnel/in-process.ts'

const DAY_MS = 24 * 60 * 60 * 1000

describe('PUT /doctor-findings', () => {
  let tunnel: Tunnel

  beforeAll(async () => {
    tunnel = await openTunnel()
  })

  afterAll(() => tunnel.stop())

  const put = (body: string, headers: Record<string, string> = {}) =>
    tunnel.admin('/doctor-findings', {
      method: 'PUT',
      headers: { authorization: `Bearer ${tunnel.token}`, ...headers },
      body,
    })
  const warnings = async () => (await (await tunnel.admin('/status')).json()).warnings

  it('makes warnings of them, in place of those of the last run', async () => {
    await put('["It strips the query.", "It limits bodies."]')
    expect((await put('["It strips the query."]')).status).toBe(200)
    expect(await warnings()).toEqual([
      expect.stringMatching(/^npm run doctor, \d{4}-\d\d-\d\d \d\d:\d\d UTC: It strips the query\.$/),
    ])
    await put('[]')
    expect(await warnings()).toEqual([])
  })

  it('limits their number and length', async () => {
    await put(JSON.stringify(Array(60).fill('x'.repeat(1_070))))
    const shown = await warnings()
    expect(shown).toHaveLength(50)
    expect(shown[0]).toMatch(/: x{1000}$/)
    expect((await put(JSON.stringify(['x'.repeat(66_000)]))).status).toBe(400)
  })

  it.each(['', '{}', 'null', '[1]', '["a", null]'])('returns 400 for the body %j', async (body) => {
    expect((await put(body)).status).toBe(400)
  })

  it('needs the token', async () => {
    expect((await put('[]', { authorization: 'Bearer wrong' })).status).toBe(401)
  })

  it('forgets them after a day', async () => {
    await put('["It strips the query."]')
    tunnel.advanceTime(DAY_MS + 1)
    expect(await warnings()).toEqual([])
  })
})
