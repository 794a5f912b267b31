/** Describes the machine and the date of a run. */

import { arch, availableParallelism, cpus, loadavg } from 'node:os'

export function describeMachine(): string {
  const [cpu] = cpus()
  return [
    new Date().toISOString().slice(0, 10),
    `Node.js ${process.versions.node}`,
    `${availableCores()} × ${cpu?.model.trim() ?? arch()}`,
  ].join(', ')
}

/** Returns the load average of the last minute. */
export function describeLoad(): string {
  return `load average ${(loadavg()[0] ?? NaN).toFixed(1)} at the start`
}

function availableCores(): number {
  return Math.max(availableParallelism(), cpus().length) // this process is tied to one core
}
