/** A tunnel in the process of the test: all of its services on loopback ports that the system chose. */

import { EventEmitter, once } from 'node:events'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { readConfig } from '../../../tunnel/src/config/config.ts'
import { openServices } from '../../../tunnel/src/services.ts'
import { createTunnel } from '../../../tunnel/src/tunnel.ts'
import { makeFolder } from '../temporary-folder.ts'
import { type LogLine, parseLine, readTunnel, TOKEN } from './running.ts'

export type TunnelOptions = {
  /** Settings beside the ones made here (`HOST`, the ports, `ADMIN_TOKEN`, files in a folder of its own), or in their place. */
  env?: Record<string, string>
}

export type Tunnel = Awaited<ReturnType<typeof openTunnel>>

/** Starts it. `await using` stops it. */
export async function openTunnel({ env }: TunnelOptions = {}) {
  await using starting = new AsyncDisposableStack()
  const folder = starting.use(await makeFolder())
  const config = readConfig({
    HOST: '127.0.0.1',
    PORT: '0',
    ADMIN_PORT: '0',
    ADMIN_TOKEN: TOKEN,
    INBOX_FILE: join(folder.path, 'inbox.db'),
    BODY_DIR: join(folder.path, 'bodies'),
    SPOOL_URL: pathToFileURL(join(folder.path, 'spool.db')).href,
    // Sentry shares a thread with the tunnel here: only a test that waits for it makes it late.
    UPSTREAM_CONNECT_MS: '30000',
    UPSTREAM_LATE_MS: '30000',
    UPSTREAM_ANSWER_MS: '60000',
    ...env,
  })
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
    clock: () => performance.now() + ahead.clock,
    logOutput,
  })
  const tunnel = createTunnel(services)
  let stopping: Promise<void> | undefined
  const stop = () => {
    stopping ??= tunnel.stop().finally(() => started.disposeAsync())
    return stopping
  }
  const { port, adminPort } = await tunnel.start()
  const started = starting.move()

  async function log(wanted: (line: LogLine) => boolean, wait = 30_000): Promise<LogLine> {
    const signal = AbortSignal.timeout(wait)
    for (;;) {
      const found = logs.find(wanted)
      if (found) return found
      await once(news, 'line', { signal })
    }
  }

  const running = { port, adminPort, token: config.adminToken ?? '', logs, log }
  return Object.assign(readTunnel(running), {
    services,
    /** Moves the time of day on, by which limits of Sentry end. The spool's file goes by the real one. */
    advanceTime(ms: number): void {
      ahead.now += ms
    },
    /** Moves the monotonic clock on, by which a circuit breaker lets a probe through. */
    advanceClock(ms: number): void {
      ahead.clock += ms
    },
    stop,
    [Symbol.asyncDispose]: stop,
  })
}
