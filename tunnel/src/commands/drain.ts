/**
 * Command that delivers the pending entries of the spool at SPOOL_URL, and ends. It is for a spool that the tunnels no longer
 * use: `SPOOL_URL=file:///spool/spool.db node tunnel/src/commands/drain.ts`.
 */

import { existsSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { run } from '../run.ts'

const LOOK_MS = 1_000

const url = process.env.SPOOL_URL ?? ''
if (url.startsWith('file:') && !existsSync(new URL(url))) {
  console.error(`culvert: there is no file ${url}, so nothing was drained. Write what SPOOL_URL was before.`)
  process.exit(1)
}

// Random ports, so that it gets no requests.
const own = { HOST: '127.0.0.1', PORT: '0', ADMIN_PORT: '0', LOG_LEVEL: process.env.LOG_LEVEL || 'error' }
const { forwarding } = await run({ ...process.env, ...own })
let last: string | undefined = ''
for (;;) {
  const left = await describePending()
  if (left !== last)
    console.log(left ?? 'Nothing is pending. Dead letters and kept envelopes stay where they are.')
  if (left === undefined) break
  last = left
  await wait(LOOK_MS)
}
process.kill(process.pid, 'SIGTERM') // stops as a tunnel does

/** Describes the pending entries and the reason why they wait; `undefined` if there are none. */
async function describePending(): Promise<string | undefined> {
  try {
    const { envelopes } = await forwarding.spool.totals()
    if (envelopes === 0) return undefined
    const away = forwarding.upstreams.state().filter(({ breaker }) => breaker.open)
    return `${envelopes} pending.${away.map(({ origin }) => ` ${origin} does not accept envelopes.`).join('')}`
  } catch (error) {
    return `The spool does not respond: ${(error as Error).message}.`
  }
}
