/** One client address that floods the tunnels while Sentry is away, beside a valid visitor: DSNs are public. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { envelopeOf, errorOf } from '../../support/envelopes.ts'
import { depthOf } from '../../support/outage/accounting.ts'
import { contentOf } from '../../support/outage/envelope-kinds.ts'
import { type Answered, post } from '../../support/post.ts'
import { type Sentry, startSentry } from '../../support/sentry/sentry.ts'
import { STORE_NAMES, STORES } from '../../support/spool/shared-stores.ts'
import { startTunnel, type Tunnel } from '../../support/tunnel/tunnel.ts'
import { until } from '../../support/until.ts'

const SPOOL_BYTES = 4 * 1024 * 1024 // 4 MiB
const SHARE_BYTES = 0.05 * SPOOL_BYTES
const FLOOD_BYTES = 20_000
const FLOODERS = 8
const HONEST = 40
const HONEST_ADDRESS = '198.51.100.9'

type Heard = Pick<Answered, 'status' | 'outcome' | 'json'> & { body: Buffer }

for (const [name, requirement] of STORE_NAMES) {
  describe(
    `When Sentry is away and one address floods two tunnels with a spool on one ${name}`,
    requirement,
    () => {
      let scope = new AsyncDisposableStack()
      let sentry: Sentry
      let tunnels: Tunnel[]

      beforeEach(async () => {
        scope = new AsyncDisposableStack()
        sentry = scope.use(await startSentry())
        const env = {
          SENTRY_DSN: sentry.dsn(),
          SPOOL_URL: scope.use(await STORES[name]()).url,
          SPOOL_BYTES: String(SPOOL_BYTES),
        }
        tunnels = [scope.use(await startTunnel({ env })), scope.use(await startTunnel({ env }))]
      })

      afterEach(() => scope.disposeAsync())

      it('all errors of other addresses are delivered, and only the share of that address of the flood', async () => {
        await sentry.away()
        const flood = startFlood(tunnels, (n) => largeErrorOf(sentry.dsn(), n))
        await flood.refused()
        const honest: Heard[] = []
        for (let n = 0; n < HONEST; n++) {
          const body = errorOf(sentry.dsn(), { honest: n })
          honest.push(await postFrom(HONEST_ADDRESS, tunnels[n % 2], body))
        }
        const flooded = await flood.end()

        expect(honest.map(({ outcome }) => outcome)).toEqual(honest.map(() => 'spooled'))
        const rejections = flooded.filter(({ status }) => status === 503)
        for (const { json } of rejections)
          expect(json).toMatchObject({
            code: 'spool-share',
            causes: ['This client address has used its share of the spool.'],
          })
        const taken = flooded.filter(({ outcome }) => outcome === 'spooled')
        const bytes = taken.reduce((sum, { body }) => sum + body.length, 0)
        expect(bytes).toBeGreaterThan(SHARE_BYTES / 2)
        expect(bytes).toBeLessThan(SHARE_BYTES + FLOODERS * FLOOD_BYTES) // replicas that query at the same moment

        await sentry.back()
        await until(async () => (await depthOf(tunnels)) === 0, 60_000)
        const arrived = sentry.requests.map(({ decoded }) => contentOf(decoded)).sort()
        expect(arrived).toEqual([...honest, ...taken].map(({ body }) => contentOf(body)).sort())
      })
    },
  )
}

/** Error, of the same importance as the entries that it would evict. */
function largeErrorOf(dsn: string, n: number): Buffer {
  const payload = JSON.stringify({ message: `flood ${n}`, level: 'error', extra: 'x'.repeat(FLOOD_BYTES) })
  return envelopeOf({ dsn }, [{ header: { type: 'event', length: payload.length }, payload }])
}

/** Posts different envelopes of `make` continuously, from many addresses of one network. */
function startFlood(tunnels: readonly Tunnel[], make: (n: number) => Buffer) {
  const heard: Heard[] = []
  const refused = Promise.withResolvers<void>()
  let [posted, going] = [0, true]
  const flooders = Array.from({ length: FLOODERS }, floodOn)
  return {
    /** Resolves when the first one is rejected. */
    refused: () => Promise.race([refused.promise, Promise.all(flooders)]),
    async end(): Promise<Heard[]> {
      going = false
      await Promise.all(flooders)
      return heard
    },
  }

  async function floodOn(): Promise<void> {
    while (going) {
      const n = posted++
      const answer = await postFrom(`2001:db8:0:1::${n.toString(16)}`, tunnels[n % tunnels.length], make(n))
      heard.push(answer)
      if (answer.status === 503) refused.resolve()
    }
  }
}

async function postFrom(address: string, tunnel: Tunnel | undefined, body: Buffer): Promise<Heard> {
  const headers = { 'x-forwarded-for': address }
  return { ...(await post(tunnel?.url ?? '', { headers, body })), body }
}
