/** Cost of scrubbing: the time that it may take for an envelope, and what it charges to the sender. */

import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { expect, it } from 'vitest'
import { Context } from '../../../../tunnel/src/pipeline/pipeline.ts'
import { Scrubbing } from '../../../../tunnel/src/policy/scrub/scrub.ts'
import { scrubStage } from '../../../../tunnel/src/policy/scrub/scrub-stage.ts'
import { envelopeOf } from '../../../support/envelopes.ts'
import { post } from '../../../support/post.ts'
import { readEnvelope } from '../../../support/read-envelope.ts'
import { startSentry } from '../../../support/sentry/sentry.ts'
import { openTunnel } from '../../../support/tunnel/in-process.ts'

const ADDRESS = '203.0.113.7'

/** Scrubs an envelope of two events while each reading of the clock takes some time. */
function scrubSlowly(msPerReading: number) {
  const message = 'a=b@c.example '.repeat(5_000)
  const part = { header: { type: 'event' }, payload: JSON.stringify({ message }) }
  const found: string[] = []
  const charges: { address: string | undefined; bytes: number }[] = []
  let time = 0
  const scrubbing = new Scrubbing(
    { level: 'default', mode: 'enforce', attachments: 'pass', selected: [], users: { kind: 'remove' } },
    (rule) => found.push(rule),
    () => (time += msPerReading),
  )
  const client = { address: ADDRESS, requestId: '', isRetry: false }
  const receipt = { id: '', time: 0, items: [], bytes: 0, replica: '' }
  const ctx = new Context(new IncomingMessage(new Socket()), client, 0, receipt)
  ctx.envelope = readEnvelope(envelopeOf({}, [part, part]), (type) => scrubbing.reads(type))
  scrubStage(scrubbing, (address, bytes) => charges.push({ address, bytes }))(ctx)
  return { removed: [...ctx.removed.values()], found, charges }
}

it('removes the items of an envelope that take longer than a second', () => {
  expect(scrubSlowly(700)).toMatchObject({
    removed: ['unscrubbable', 'unscrubbable'],
    found: ['unscrubbable', 'unscrubbable'],
  })
})

it('charges the time that an envelope takes beyond others of its size to the client address', () => {
  expect(scrubSlowly(20)).toMatchObject({
    removed: [],
    charges: [{ address: ADDRESS, bytes: expect.closeTo(100 * 32 * 1024 - 140_000, -2) }],
  })
})

it('charges nothing for an envelope that takes no longer than others', () => {
  expect(scrubSlowly(0.1)).toMatchObject({ removed: [], charges: [] })
})

it('limits the sender of an envelope that is made to cost time', async () => {
  await using sentry = await startSentry()
  await using tunnel = await openTunnel({
    env: {
      SENTRY_DSN: sentry.dsn(),
      SCRUB: 'strict',
      EDGE: '127.0.0.1',
      ADDRESS_RATE: '1',
      SPOOL_URL: '',
    },
  })
  const send = (message: string, address: string) =>
    post(tunnel.url, {
      body: envelopeOf({ dsn: sentry.dsn() }, [
        { header: { type: 'event' }, payload: JSON.stringify({ message }) },
      ]),
      headers: { 'x-forwarded-for': address },
    })
  const costly = ('%254111 pin=a,DE89 a@b.c::1 ' as const).repeat(30_000)
  expect((await send(costly, ADDRESS)).status).toBe(200)
  expect((await send('a', ADDRESS)).status).toBe(429)
  expect((await send('a', '198.51.100.7')).status).toBe(200)
})
