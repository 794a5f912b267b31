/** Creates the spool entry of an envelope. */

import { networkOf } from 'contract/networks'
import type { Bodies } from '../envelope/body/bodies.ts'
import { buildBody, decompressForSpool, type OutgoingBody } from '../envelope/body/outgoing.ts'
import type { Range } from '../envelope/body/ranges.ts'
import { identify } from '../envelope/dedupe-key.ts'
import { categoriesOf } from '../envelope/items.ts'
import { mostImportant, priorityOf } from '../envelope/priorities.ts'
import type { Parts } from '../pipeline/pipeline.ts'
import { isMirrorKey } from '../pipeline/projects.ts'
import type { Keeping, SpoolBody, SpoolEntry } from '../pipeline/spool.ts'

/** Entry without the fields that derive from its body. */
export type EntryDescription = Omit<SpoolEntry, 'key' | 'bytes'>

/** Describes the entry of an envelope without its removed items. `headers` are those of `senderHeaders`. */
export function describeEntry(
  ctx: Parts<'project' | 'client' | 'receipt' | 'remaining' | 'envelope'>,
  headers: string[],
): EntryDescription {
  const { project, client, receipt } = ctx
  const category = mostImportant(ctx.remaining().items.map((item) => categoriesOf(item)[0] ?? ''))
  return {
    project: project.key,
    category,
    priority: priorityOf(category),
    network: networkOf(client.address),
    received: receipt.time,
    receipt: receipt.id,
    eventId: ctx.envelope.eventId,
    headers,
  }
}

const KEPT_CATEGORIES = ['error', 'feedback']

/** Reports whether an entry stays once it is accepted. */
export function isKept(
  { project, category }: Pick<SpoolEntry, 'project' | 'category'>,
  keeping: Keeping | undefined,
): boolean {
  if (keeping === 'all') return true
  return keeping === 'errors' && KEPT_CATEGORIES.includes(category) && !isMirrorKey(project)
}

/** Builds the body of an entry: decoded, since `sent_at` changes before delivery, and without the removed ranges. */
export async function buildSpoolBody(
  ctx: Parts<'envelope' | 'body' | 'addDerivedBody'>,
  bodies: Bodies,
  removed: Range[],
): Promise<OutgoingBody> {
  const { envelope, body } = ctx
  if (body.encoding === 'identity') return buildBody(body, envelope.bytes, removed)
  const plain = await decompressForSpool(bodies, body, envelope.bytes, removed)
  ctx.addDerivedBody(plain)
  return buildBody(plain, plain.wireBytes, [])
}

/** Creates an entry, whose identity is that of its project and its body. */
export async function createSpoolEntry(
  described: EntryDescription,
  outgoing: OutgoingBody,
): Promise<{ entry: SpoolEntry; body: SpoolBody }> {
  const key = await identify(described.project, outgoing.content())
  const entry = { ...described, key, bytes: outgoing.bytes }
  return { entry, body: { chunks: outgoing.content, file: outgoing.file } }
}
