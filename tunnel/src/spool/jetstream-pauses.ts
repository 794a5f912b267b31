/** Pauses, kept in the stream's own description: every look at the stream shows them, and a full one takes them. */

import type { JetStreamManager } from '@nats-io/jetstream'
import { projectOf, STREAM, tokenOf } from './jetstream-entry.ts'
import { insist } from './jetstream-messages.ts'
import type { Pause } from './spool.ts'

const PREFIX = 'culvert-paused'
const ROUNDS = 5 // while others change it too

type Described = Record<string, string>

/** Changes one pause; `since` is absent to end it. */
export async function writePause(
  jsm: JetStreamManager,
  project: string | undefined,
  since: number | undefined,
): Promise<void> {
  const name = project === undefined ? PREFIX : `${PREFIX}.${tokenOf(project)}`
  for (let round = 0; round < ROUNDS; round++) {
    const described = await describedBy(jsm)
    if ((since === undefined) === (described[name] === undefined)) return
    const { [name]: _, ...others } = described
    const metadata = since === undefined ? others : { ...others, [name]: String(since) }
    await insist(() => jsm.streams.update(STREAM, { metadata }))
  }
  throw new Error('others change what is paused at the same time: try it again')
}

/** What begins so is the server's own. */
async function describedBy(jsm: JetStreamManager): Promise<Described> {
  const { config } = await insist(() => jsm.streams.info(STREAM))
  const entries = Object.entries(config.metadata ?? {}).filter(([name]) => !name.startsWith('_nats'))
  return Object.fromEntries(entries)
}

export function readPauses(described: Described | undefined): Pause[] {
  return Object.entries(described ?? {}).flatMap(([name, since]) => {
    if (name === PREFIX) return { since: Number(since) }
    if (!name.startsWith(`${PREFIX}.`)) return []
    return { project: projectOf(name.slice(PREFIX.length + 1)), since: Number(since) }
  })
}
