/** What the spool is told of an envelope that is to wait, and the bytes that it keeps of it. */

import type { OutgoingBody } from '../body/outgoing.ts'
import type { Receipt } from '../contract.ts'
import { identify } from '../envelope/dedupe-key.ts'
import { categoriesOf, type Item } from '../envelope/items.ts'
import { mostImportant, priorityOf } from '../envelope/priorities.ts'
import { networkOf } from '../policy/throttle.ts'
import type { Project } from '../projects.ts'
import type { SpoolBody, SpoolEntry } from './spool.ts'

/** What of an envelope is to wait, and from whom it came. */
export type NewEntry = {
  project: Project
  items: readonly Item[]
  /** Not compressed: it may have to be changed before it leaves. */
  outgoing: OutgoingBody
  /** Bytes on the wire, of a body that came compressed. */
  wireBytes: number | undefined
  /** As `senderHeaders` gives them. */
  headers: string[]
  address: string | undefined
  receipt: Pick<Receipt, 'id' | 'time'>
}

export async function createSpoolEntry(wait: NewEntry): Promise<{ entry: SpoolEntry; body: SpoolBody }> {
  const { project, items, outgoing, wireBytes, headers, address, receipt } = wait
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
