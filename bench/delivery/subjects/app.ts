/** The app that serves the page. */

import { NODE } from '../../../tests/support/node.ts'
import { startProgram } from '../../../tests/support/program.ts'
import type { PageKind } from './pages.ts'
import { asDockerStops, type Running, rerouted } from './replica.ts'

export type AppOptions = {
  port: number
  /** Where its connections go instead. */
  reroute: Record<string, string>
}

export type App = {
  pages: PageKind[]
  start(options: AppOptions): Promise<Running>
  /** The same page, built so that the app server itself passes reports on. */
  startRewritten?(options: AppOptions): Promise<Running>
}

const STARTS_WITHIN = 120_000 // ms; several start at once

/** A standalone server of Next.js. */
export async function startNext({
  server,
  port,
  reroute,
}: AppOptions & { server: string }): Promise<Running> {
  const { args, env } = rerouted(reroute)
  const program = startProgram('Next.js', NODE, [...args, server], {
    ...env,
    HOSTNAME: '127.0.0.1',
    PORT: String(port),
    KEEP_ALIVE_TIMEOUT: '75000', // ms, longer than nginx holds a connection to it
    NEXT_TELEMETRY_DISABLED: '1',
  })
  await program.line((line) => line.includes('Ready'), STARTS_WITHIN)
  return asDockerStops(program)
}
