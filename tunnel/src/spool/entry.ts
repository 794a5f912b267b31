/** Creates the spool entry of an envelope. */

import type { OutgoingBody } from '../body/outgoing.ts'
import type { Receipt } from '../contract.ts'
import { identify } from '../envelope/dedupe-key.ts'
import { categoriesOf, type Item } from '../envelope/items.ts'
import { mostImportant, priorityOf } from '../envelope/priorities.ts'
import { networkOf } from '../policy/throttle.ts'
import type { Project } from '../projects.ts'
import type { SpoolBody, SpoolEntry } from './spool.ts'

/** Envelope to spool, and its sender. */
type NewEntry = {
  project: Project
  items: readonly Item[]
  /** Not compressed: `sent_at` changes before delivery. */
  outgoing: OutgoingBody
  /** Bytes on the wire of a compressed body. */
  wireBytes: number | undefined
  /** Headers from `senderHeaders`. */
  headers: string[]
  address: string | undefined
  receipt: Pick<Receipt, 'id' | 'time'>
}

export async function createSpoolEntry(envelope: NewEntry): Promise<{ entry: SpoolEntry; body: SpoolBody }> {
  const { project, items, outgoing, wireBytes, headers, address, receipt } = envelope
  const body = { chunks: outgoing.content, file: outgoing.file }
  const category = mostImportant(items.map((item) => categoriesOf(item)[0] ?? ''))
  const entry = {
    key: await identify(project.key, body.chunks()),
    project: project.key,
    category,
    priority: priorityOf(category),
    network: networkOf(address),
    received: receipt.time,
    bytes: outgoing.bytes,
    ...(wireBytes !== undefined && { wireBytes }),
    receipt: receipt.id,
    headers,
  }
  return { entry, body }
}
