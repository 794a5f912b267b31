/** Creates the spool entry of an envelope. */

import { networkOf } from 'contract/networks'
import type { OutgoingBody } from '../body/outgoing.ts'
import { identify } from '../envelope/dedupe-key.ts'
import { categoriesOf } from '../envelope/items.ts'
import { mostImportant, priorityOf } from '../envelope/priorities.ts'
import type { Context } from '../pipeline.ts'
import type { SpoolBody, SpoolEntry } from './spool.ts'

/**
 * Creates the entry of an envelope without its removed items. `outgoing` is not compressed, since `sent_at` changes before delivery.
 * `headers` are those of `senderHeaders`.
 */
export async function createSpoolEntry(
  ctx: Context,
  outgoing: OutgoingBody,
  headers: string[],
): Promise<{ entry: SpoolEntry; body: SpoolBody }> {
  const { project, client, receipt } = ctx
  const category = mostImportant(ctx.remaining().items.map((item) => categoriesOf(item)[0] ?? ''))
  const entry = {
    key: await identify(project.key, outgoing.content()),
    project: project.key,
    category,
    priority: priorityOf(category),
    network: networkOf(client.address),
    received: receipt.time,
    bytes: outgoing.bytes,
    receipt: receipt.id,
    eventId: ctx.envelope.eventId,
    headers,
  }
  return { entry, body: { chunks: outgoing.content, file: outgoing.file } }
}
