/** Replicas at an address that does not respond, as after a deploy: until nginx resolves names again, envelopes reach another replica within 500 ms. */

import { describe, expect, it } from 'vitest'
import { startNginx } from '../../support/nginx/nginx.ts'
import { startSilent } from '../../support/nginx/unresponsive-server.ts'
import { post } from '../../support/post.ts'
import { startUpstream } from '../../support/recording-server.ts'
import { requires } from '../../support/requirements.ts'

const P99_MS = 500
const ENVELOPES = 200
const AT_ONCE = 4
const ON_DISK = 300_000 // bytes, more than nginx buffers in memory

describe('While replicas do not respond', requires('nginx'), () => {
  it.concurrent.each([
    ['one of two', 1, 2, 'POST', '/monitoring', 'envelope'],
    ['two of four', 2, 4, 'POST', '/monitoring', 'envelope'],
    ['one of two, with a body on disk', 1, 2, 'POST', '/monitoring', 'envelope'.padEnd(ON_DISK, '.')],
    ['one of two webs', 1, 2, 'GET', '/', ''],
  ] as const)(
    'each envelope or page arrives once, with p99 below 500 ms: %s',
    async (_, gone, count, method, path, body) => {
      await using started = new AsyncDisposableStack()
      const silent = await Promise.all(Array.from({ length: gone }, startSilent))
      for (const each of silent) started.use(each)
      const replicas = await Promise.all(
        Array.from({ length: count - gone }, (_, n) => startUpstream(`replica ${n}`)),
      )
      for (const each of replicas) started.use(each)
      const addresses = [...silent, ...replicas].map(({ address }) => address)
      const nginx = started.use(await startNginx({ tunnels: addresses, web: addresses.join(' ') }))
      const durations: number[] = []
      const send = async (): Promise<void> => {
        for (let n = 0; n < ENVELOPES / AT_ONCE; n++) {
          const began = performance.now()
          const { status } = await post(nginx.url, { method, path, body })
          durations.push(performance.now() - began)
          expect(status).toBe(200)
        }
      }
      await Promise.all(Array.from({ length: AT_ONCE }, send))
      durations.sort((a, b) => a - b)
      const [p50 = NaN, p99 = NaN] = [0.5, 0.99].map((share) => durations[Math.floor(share * ENVELOPES)])
      console.log(`p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`)
      expect(p99).toBeLessThan(P99_MS)
      const asked = replicas.flatMap((replica) => replica.asked)
      expect(asked).toHaveLength(ENVELOPES)
      for (const each of asked) expect(each.headers).not.toHaveProperty('x-culvert-retry')
      for (const each of asked) expect(each.body.length).toBe(body.length)
    },
  )
})
