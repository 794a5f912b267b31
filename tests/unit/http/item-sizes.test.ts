/** Settings for servers that accept larger items than Sentry. */

import { describe, expect, it } from 'vitest'
import { envelopeOf } from '../../support/envelopes.ts'
import { post } from '../../support/post.ts'
import { startSentry } from '../../support/sentry/sentry.ts'
import { openTunnel } from '../../support/tunnel/in-process.ts'

const MIB = 1024 * 1024

describe('The size of an item', () => {
  const send = async (env: Record<string, string>, type: string, bytes: number) => {
    await using sentry = await startSentry()
    await using tunnel = await openTunnel({ env: { SENTRY_DSN: sentry.dsn(), ...env } })
    const item = { header: { type, length: bytes }, payload: Buffer.alloc(bytes, 0x20) }
    const { json, status } = await post(tunnel.url, { body: envelopeOf({ dsn: sentry.dsn() }, [item]) })
    return (json as { code?: string } | undefined)?.code ?? status
  }

  it.each([
    [{}, 'event', 1.5 * MIB, 'item-too-large'],
    [{}, 'check_in', MIB, 'item-too-large'],
    [{ MAX_ENVELOPE_BYTES: '209715200' }, 'check_in', MIB, 200],
    [{ MAX_ENVELOPE_BYTES: '209715200' }, 'event', 1.5 * MIB, 200],
    [{ MAX_ENVELOPE_BYTES: '52428800' }, 'event', 1.5 * MIB, 'item-too-large'],
  ] as const)('with %j decides about %s of %d bytes: %s', async (env, type, bytes, result) => {
    expect(await send(env, type, bytes)).toBe(result)
  })

  it('of an event that filters read grows with MAX_ENVELOPE_BYTES', async () => {
    await using sentry = await startSentry()
    const env = {
      SENTRY_DSN: sentry.dsn(),
      MAX_ENVELOPE_BYTES: '209715200',
      FILTER_ERROR_MESSAGES: '*noise*',
    }
    await using tunnel = await openTunnel({ env })
    const event = JSON.stringify({ message: 'noise', extra: 'x'.repeat(4_000_000) })
    await post(tunnel.url, {
      body: envelopeOf({ dsn: sentry.dsn() }, [{ header: { type: 'event' }, payload: event }]),
    })
    expect(sentry.requests).toEqual([])
  })
})
