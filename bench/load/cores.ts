/** Assigns one CPU core to the server, and another to the load and the sink. */

import { spawnSync } from 'node:child_process'

/** Words before a command that tie it to the server's core; empty where that is impossible. */
export type Cores = { server: readonly string[]; note: string }

const UNPINNED: Cores = {
  server: [],
  note: 'no core of its own for the server (taskset, or a second core, is missing)',
}

/** Ties this process, which generates the load, to core 1. */
export function takeCores(): Cores {
  const server = ['taskset', '-c', '0']
  if (!runs([...server, 'true']) || !runs(['taskset', '-a', '-c', '-p', '1', String(process.pid)]))
    return UNPINNED
  return { server, note: 'the server on one core, the load generator and the mock Sentry on another' }
}

/** Returns the core of the load, for a second server. */
export function takeOther(cores: Cores): Cores {
  return cores.server.length === 0 ? cores : { ...cores, server: ['taskset', '-c', '1'] }
}

function runs([program = '', ...args]: string[]): boolean {
  return spawnSync(program, args, { stdio: 'ignore' }).status === 0
}
