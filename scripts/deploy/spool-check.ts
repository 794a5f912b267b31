/** Finds out whether the spool of running tunnels accepts envelopes. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { ComposeProject } from './compose-project.ts'

const POLL_MS = 500
/** Time for a tunnel to open a spool on another machine. */
const WRITABLE_WITHIN_MS = 30_000

/** Runs in a tunnel's container, whose admin port listens at one of its addresses. */
const PRINT_METRICS = `Promise.any(Object.values(os.networkInterfaces()).flat().map(({ address }) => fetch('http://' + address + ':9091/metrics').then((r) => r.text()))).then(console.log)`

/** Returns whether the spool of this tunnel accepts envelopes now. */
export function isSpoolWritable(project: ComposeProject, tunnel: string): boolean {
  return project.lines('exec', tunnel, 'node', '-e', PRINT_METRICS).includes('culvert_spool_writable 1')
}

/** Waits until the spools of all these tunnels accept envelopes. Returns whether they do in time. */
export async function waitForSpools(
  project: ComposeProject,
  tunnels: readonly string[],
  stopped: AbortSignal,
): Promise<boolean> {
  const end = performance.now() + WRITABLE_WITHIN_MS
  while (!tunnels.every((tunnel) => isSpoolWritable(project, tunnel))) {
    if (performance.now() > end) return false
    await sleep(POLL_MS, undefined, { signal: stopped })
  }
  return true
}
