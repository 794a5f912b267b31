/** Tunnel in the process of the test: all services on free loopback ports. */

import { EventEmitter, once } from 'node:events'
import { join } from 'node:path'
import { type Config, readConfig } from '../../../tunnel/src/config/config.ts'
import { openServices } from '../../../tunnel/src/services.ts'
import { createTunnel } from '../../../tunnel/src/tunnel.ts'
import { openInThisThread } from '../spool/same-thread.ts'
import { makeMemoryFolder } from '../temporary-folder.ts'
import { type LogLine, PATIENT_UPSTREAM, parseLine, readTunnel, settingsOf } from './running.ts'

export type TunnelOptions = {
  /** Settings that add to the default ones of the tests (`HOST`, the ports, `ADMIN_TOKEN`, files in a temporary folder), or replace them. */
  env?: Record<string, string>
  /** Changes what the settings say, such as fixed times. */
  adjust?: (config: Config) => Config
  /** Folder of the SDK; by default there is none, because reading and sharing the bundles takes longer than most tests. */
  sdkFolder?: string
  /** Monotonic clock in milliseconds, by default the real one. With one that stands still, rates do not depend on the speed of the machine. */
  clock?: () => number
}

const NO_SDK = join(import.meta.dirname, 'no-sdk')

export type Tunnel = Awaited<ReturnType<typeof openTunnel>>

/** Starts the tunnel. `await using` stops it. */
export async function openTunnel({
  env,
  adjust = (config) => config,
  sdkFolder = NO_SDK,
  clock = () => performance.now(),
}: TunnelOptions = {}) {
  await using starting = new AsyncDisposableStack()
  const folder = starting.use(await makeMemoryFolder())
  const config = adjust(readConfig({ ...PATIENT_UPSTREAM, ...settingsOf(folder.path, env) }))
  const logs: LogLine[] = []
  const news = new EventEmitter<{ line: [] }>()
  const logOutput = {
    write(lines: string): void {
      logs.push(...lines.trimEnd().split('\n').map(parseLine))
      news.emit('line')
    },
    flush: (done: () => void) => done(),
    flushSync: () => {},
  }
  const ahead = { now: 0, clock: 0 } // ms
  const services = await openServices(config, {
    now: () => Date.now() + ahead.now,
    clock: () => clock() + ahead.clock,
    logOutput,
    openSpoolFile: openInThisThread,
    sdkFolder,
  })
  const tunnel = createTunnel(services)
  let stopping: Promise<void> | undefined
  const stop = () => {
    stopping ??= tunnel.stop().finally(() => started.disposeAsync())
    return stopping
  }
  const { port, adminPort } = await tunnel.start()
  const started = starting.move()

  async function log(wanted: (line: LogLine) => boolean, wait = 50_000): Promise<LogLine> {
    const signal = AbortSignal.timeout(wait)
    for (;;) {
      const found = logs.find(wanted)
      if (found) return found
      await once(news, 'line', { signal })
    }
  }

  const running = { port, adminPort, token: config.adminToken ?? '', logs, log }
  const access = readTunnel(running)
  return Object.assign(access, {
    services,
    /** Makes pending entries due, as their backoff would in some seconds: the spool's file uses the real clock. */
    retry: () => access.admin('/spool/retry?all', { method: 'POST' }),
    /** Advances the wall clock, by which rate limits of Sentry end. The spool's file uses the real one. */
    advanceTime(ms: number): void {
      ahead.now += ms
    },
    /** Advances the monotonic clock, by which a circuit breaker allows a probe. */
    advanceClock(ms: number): void {
      ahead.clock += ms
    },
    stop,
    [Symbol.asyncDispose]: stop,
  })
}
