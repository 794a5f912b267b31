/** Runs a process that is killed or stopped, and started again on the same port. */

import { resolve } from 'node:path'
import { ROOT } from '../../../tests/support/node.ts'
import type { Program } from '../../../tests/support/program.ts'

export type Running = {
  /** Kills the process at once, by SIGKILL. */
  kill(): Promise<void>
  /** Stops the process as a deployment does. */
  stop(): Promise<void>
}

export type Replica = Running & { start(): Promise<void>; [Symbol.asyncDispose](): Promise<void> }

export async function startReplica(start: () => Promise<Running>): Promise<Replica> {
  let running = await start()
  let [starting, over]: [Promise<void>, boolean] = [Promise.resolve(), false]
  return {
    kill: () => running.kill(),
    stop: () => running.stop(),
    start() {
      if (over) return Promise.reject(new Error('it has been ended for good'))
      starting = start().then((started) => {
        running = started
      })
      return starting
    },
    async [Symbol.asyncDispose]() {
      over = true
      await starting.catch(() => {}) // the caller of start has the error
      await running.stop()
    },
  }
}

const GRACE_MS = 10_000

/** Ends a process as `docker stop` does: by SIGTERM, and by SIGKILL after 10 s. */
export function asDockerStops(program: Program): Running {
  return {
    kill: program.kill,
    async stop() {
      const patience = setTimeout(program.kill, GRACE_MS)
      await program.stop().catch(() => {}) // Next.js exits with 143
      clearTimeout(patience)
    },
  }
}

const PRELOAD = new URL('../../../tests/support/tunnel/reroute-preload.ts', import.meta.url).href
const CERTIFICATE = resolve(ROOT, 'tests/fixtures/tls/cert.pem')

/** Arguments and environment that let a Node process connect to the recorder instead of Sentry's cloud. */
export function rerouted(reroute: Record<string, string>) {
  return {
    args: ['--import', PRELOAD],
    env: { TEST_REROUTE: JSON.stringify(reroute), NODE_EXTRA_CA_CERTS: CERTIFICATE },
  }
}
