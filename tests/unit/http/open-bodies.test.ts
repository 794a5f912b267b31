/** Limit on bodies that arrive at the same time from one client address. */

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Body } from '../../../tunnel/src/envelope/body/bodies.ts'
import { MAX_OPEN_BODIES, OpenBodies } from '../../../tunnel/src/http/receive.ts'
import { post } from '../../support/post.ts'
import { openTunnel, type Tunnel } from '../../support/tunnel/in-process.ts'
import { until } from '../../support/until.ts'

const BODY = {} as Body
const ATTACKER = '8.8.8.8'
const VISITOR = '9.9.9.9'

describe('While a client address sends as many bodies as the limit allows', () => {
  let tunnel: Tunnel
  let slow: Socket[]

  beforeEach(async () => {
    tunnel = await openTunnel()
    slow = await Promise.all(Array.from({ length: MAX_OPEN_BODIES }, () => openSlow(tunnel.port, ATTACKER)))
    await until(async () => tunnel.services.ingest.inFlight() === MAX_OPEN_BODIES)
  })

  afterEach(async () => {
    for (const socket of slow) socket.destroy()
    await tunnel.stop()
  })

  it.each(['/monitoring', '/monitoring/reports'])(
    'returns 429 with categories to its posts to %s',
    async (path) => {
      const { status, headers, json } = await probe(ATTACKER, path)
      expect([status, json]).toEqual([429, expect.objectContaining({ code: 'throttled' })])
      expect(headers['x-sentry-rate-limits']).toMatch(/^10:[a-z;_]*error/)
    },
  )

  it('accepts posts of other addresses, and of private ones', async () => {
    for (const address of [VISITOR, '10.1.2.3']) expect((await probe(address)).status).toBe(200)
  })

  it('accepts its posts again when the others have ended', async () => {
    for (const socket of slow) socket.destroy()
    await until(async () => tunnel.services.ingest.inFlight() === 0)
    expect((await probe(ATTACKER)).status).toBe(200)
  })

  function probe(address: string, path = '/monitoring') {
    const type = { 'content-type': 'application/reports+json' }
    return post(tunnel.url, { path, headers: { 'x-forwarded-for': address, ...type }, body: '{}' })
  }
})

describe('OpenBodies', () => {
  it('forgets networks without an open body, and no others', async () => {
    const openBodies = new OpenBodies()
    const arriving = Promise.withResolvers<Body>()
    const receive = (address: string, body: () => Promise<Body>) =>
      openBodies.receive(contextOf(address), body)
    const open = Array.from({ length: MAX_OPEN_BODIES }, () => receive(ATTACKER, () => arriving.promise))
    for (let i = 0; i < 5_000; i++) await receive(`9.9.${i >> 8}.${i & 255}`, async () => BODY)
    expect(openBodies.size).toBeLessThan(2_000)
    expect(await receive(ATTACKER, async () => BODY)).toMatchObject({ status: 429 })
    arriving.resolve(BODY)
    await Promise.all(open)
    expect(await receive(ATTACKER, async () => BODY)).toBeUndefined()
  })

  function contextOf(address: string) {
    const client = { address, requestId: '0'.repeat(32), isRetry: false }
    return { client, isKeptBySender: () => false, isLossReported: false, body: BODY }
  }
})

/** Opens a connection with a request whose body does not arrive. */
async function openSlow(port: number, address: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  await once(socket, 'connect')
  socket.write(
    `POST /monitoring HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${address}\r\nContent-Length: 9\r\n\r\n{`,
  )
  return socket.resume()
}
