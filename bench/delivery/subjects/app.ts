/** Starts the app that serves the page. */

import { NODE } from '../../../tests/support/node.ts'
import { startProgram } from '../../../tests/support/program.ts'
import type { PageKind } from './pages.ts'
import { asDockerStops, type Running, rerouted } from './replica.ts'

export type AppOptions = {
  port: number
  /** Addresses that replace the destinations of its connections. */
  reroute: Record<string, string>
}

export type App = {
  pages: PageKind[]
  start(options: AppOptions): Promise<Running>
  /** Starts the same page from an app server that forwards reports by a rewrite. */
  startRewritten?(options: AppOptions): Promise<Running>
}

const START_TIMEOUT_MS = 120_000 // several start at once

/** Starts a standalone server of Next.js. */
export async function startNext(server: string, { port, reroute }: AppOptions): Promise<Running> {
  const { args, env } = rerouted(reroute)
  const program = startProgram('Next.js', NODE, [...args, server], {
    ...env,
    HOSTNAME: '127.0.0.1',
    PORT: String(port),
    KEEP_ALIVE_TIMEOUT: '75000', // ms, longer than the keep-alive of nginx
    NEXT_TELEMETRY_DISABLED: '1',
  })
  await program.line((line) => line.includes('Ready'), START_TIMEOUT_MS)
  return asDockerStops(program)
}
