/** Many large uploads at the same time, beside small envelopes. */

import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { afterEach, describe, expect, it } from 'vitest'
import { startNginx } from '../../support/nginx/nginx.ts'
import { requires } from '../../support/requirements.ts'
import { describeTraffic, startLiveTraffic } from '../../support/security/live-traffic.ts'
import { startSmallTunnel } from '../../support/security/small-tunnel.ts'
import type { Uploads } from '../../support/security/uploads.ts'

const UPLOADS = 200
/** Uploads of the full size show in p99 that nginx.conf lacks `multi_accept`. Smaller ones measure only how busy the machine is. */
const FULL_MB = 20
const MB = Number(process.env.UPLOAD_MB ?? 2)
const P99_MS = 1_000
const EVERY_MS = 25 // between two small envelopes
const WARM_UP_MS = 1_000

let started = new AsyncDisposableStack()

afterEach(async () => {
  await started.disposeAsync()
  started = new AsyncDisposableStack()
})

describe(
  `While ${UPLOADS} uploads of ${MB} MB arrive at the same time, two tunnels`,
  requires('nginx', 'proc'),
  () => {
    it('answer all small envelopes, and accept every upload', async () => {
      const [sentry, uploader] = [startThread('sentry-thread.ts'), startThread('uploads.ts')]
      const [dsn]: string[] = await once(sentry, 'message')
      if (!dsn) throw new Error('no Sentry')
      const tunnels = [started.use(await startSmallTunnel(dsn)), started.use(await startSmallTunnel(dsn))]
      const addresses = tunnels.map(({ port }) => `127.0.0.1:${port}`)
      const nginx = started.use(await startNginx({ tunnels: addresses, web: '127.0.0.1:9' }))
      const warmUp = startLiveTraffic(nginx.url, dsn, EVERY_MS)
      await sleep(WARM_UP_MS)
      await warmUp.end()
      const traffic = startLiveTraffic(nginx.url, dsn, EVERY_MS)
      uploader.postMessage({ url: nginx.url, dsn, count: UPLOADS, bytes: MB * 1e6 } satisfies Uploads)
      const [statuses]: Record<string, number>[] = await once(uploader, 'message')
      const live = await traffic.end()
      console.log(`uploads: ${JSON.stringify(statuses)};`, describeTraffic(live))
      expect(statuses?.[200]).toBe(UPLOADS)
      expect(live.statuses[200]).toBe(live.count)
      if (MB >= FULL_MB) expect(live.p99).toBeLessThan(P99_MS)
    })

    /** Starts one of the worker threads, so that the thread of the test only measures. */
    function startThread(file: string): Worker {
      const worker = new Worker(new URL(`../../support/security/${file}`, import.meta.url))
      started.defer(async () => void (await worker.terminate()))
      return worker
    }
  },
)
