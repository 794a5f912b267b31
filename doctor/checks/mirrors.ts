/** Mirrors: whether their servers accept envelopes, the doctor's own among them. */

import { setTimeout as wait } from 'node:timers/promises'
import type { MirrorStatus } from 'contract/admin-api'
import type { AdminClient } from '../admin-client.ts'
import { type Check, type Finding, fail, pass, warn, withAdmin } from '../check.ts'

const LOOKS = 20
const LOOK_MS = 500 // a mirror gets an envelope some seconds after its project

export const mirrors: Check = {
  name: 'mirrors',
  after: ['tunnel'],
  title: 'Mirrors accept envelopes',
  verifies: 'The server of each mirror in MIRROR_DSN accepts envelopes of its project.',
  remedy:
    'Check the DSN after "->" in MIRROR_DSN, and its server. The page Projects of the console shows what it answers.',
  run: withAdmin(async (admin) => {
    let finding = judge(await listMirrors(admin))
    for (let look = 1; finding.result === 'warn' && look < LOOKS; look++) {
      await wait(LOOK_MS)
      finding = judge(await listMirrors(admin))
    }
    return finding
  }),
}

/** Returns the mirrors, each with what every replica knows of it. */
async function listMirrors(admin: AdminClient): Promise<MirrorStatus[][]> {
  const all = (await admin.statuses()).flatMap((status) => status.mirrors ?? [])
  return [...Map.groupBy(all, ({ mirror }) => mirror).values()]
}

function judge(all: readonly MirrorStatus[][]): Finding {
  if (all.length === 0) return pass('No project has a mirror.')
  const failure = all.map(findFailure).find((each) => each !== undefined)
  if (failure) return failure
  const untried = all.find((same) => countDelivered(same) === 0)?.[0]
  if (untried) return warn(`The mirror ${untried.mirror} has accepted no envelope since the tunnels started.`)
  const counts = all.map((same) => `${same[0]?.mirror} ${countDelivered(same)}`)
  return pass(`Envelopes that mirrors have accepted: ${counts.join(', ')}.`)
}

function findFailure(same: readonly MirrorStatus[]): Finding | undefined {
  for (const { mirror, upstream } of same) {
    const { refusals = [], breaker, last_error: error } = upstream
    const refusal = refusals.find(({ project }) => project === mirror)
    if (refusal) return fail(`The mirror ${mirror} refuses envelopes (HTTP ${refusal.status}).`)
    if (breaker.open) {
      const reason = error && ` (${error.status === undefined ? error.class : `HTTP ${error.status}`})`
      return fail(`The mirror ${mirror} is not reached${reason ?? ''}.`)
    }
  }
  const declined = same.reduce((sum, { results }) => sum + (results.declined ?? 0), 0)
  if (declined === 0 || countDelivered(same) > 0) return undefined
  return fail(`The mirror ${same[0]?.mirror} has declined all envelopes.`)
}

function countDelivered(same: readonly MirrorStatus[]): number {
  return same.reduce((sum, { results }) => sum + (results.delivered ?? 0), 0)
}
