/** Whether a spool takes what is put into it: told to operators, and gone by itself when it does again. */

import type { Spool } from './spool.ts'

export type SpoolHealth = {
  writable: boolean
  /** When that began, in milliseconds since 1970. */
  since: number
  /** What the disk or the server said. */
  problem?: string
}

export type Watched<Kind extends Spool> = Kind & { health(): SpoolHealth }

export function watchHealth<Kind extends Spool>(spool: Kind, now: () => number): Watched<Kind> {
  let health: SpoolHealth = { writable: true, since: now() }
  return Object.assign(Object.create(spool) as Kind, { put, health: () => health })

  async function put(...args: Parameters<Spool['put']>): ReturnType<Spool['put']> {
    try {
      const result = await spool.put(...args)
      if (!health.writable) health = { writable: true, since: now() }
      return result
    } catch (error) {
      const problem = error instanceof Error ? error.message : 'unknown'
      health = { writable: false, since: health.writable ? now() : health.since, problem }
      throw error
    }
  }
}
