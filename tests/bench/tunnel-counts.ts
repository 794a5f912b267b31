/** How many envelopes Culvert's own books say it has carried. */

import { setTimeout as sleep } from 'node:timers/promises'

const QUIET_MS = 100 // a feed without an end has told all it has when it falls silent

/** `culvert_envelopes_total`, summed over what was delivered at once. */
export function readDelivered(adminUrl: string): Promise<number> {
  return readTotal(adminUrl, 'culvert_envelopes_total', 'answer="delivered"')
}

/** `culvert_envelopes_total`, summed over what was put into the spool. */
export function readSpooled(adminUrl: string): Promise<number> {
  return readTotal(adminUrl, 'culvert_envelopes_total', 'answer="spooled"')
}

/** `culvert_spool_ends_total`, summed over what was delivered from the spool. */
export function readDrained(adminUrl: string): Promise<number> {
  return readTotal(adminUrl, 'culvert_spool_ends_total', 'end="delivered"')
}

async function readTotal(adminUrl: string, metric: string, label: string): Promise<number> {
  const text = await (await fetch(`${adminUrl}/metrics`)).text()
  const series = text.split('\n').filter((line) => line.startsWith(`${metric}{`) && line.includes(label))
  return series.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
}

/** Receipts ever made: those that the feed still has, and those it says are gone. */
export async function readReceipts(adminUrl: string, token: string, replica: string): Promise<number> {
  const { body } = await fetch(`${adminUrl}/receipts`, {
    headers: { authorization: `Bearer ${token}`, 'last-event-id': `${replica}:0` },
  })
  if (!body) throw new Error('the feed of receipts is empty')
  const feed = await readUntilQuiet(body)
  const missed = Number(/"missed":(\d+)/.exec(feed)?.[1] ?? 0)
  return missed + feed.split('event: receipt').length - 1
}

async function readUntilQuiet(stream: ReadableStream<Uint8Array>): Promise<string> {
  const reader = stream.getReader()
  const chunks: Uint8Array[] = []
  for (;;) {
    const piece = await Promise.race([reader.read(), sleep(QUIET_MS)])
    if (!piece?.value) break
    chunks.push(piece.value)
  }
  await reader.cancel()
  return Buffer.concat(chunks).toString()
}
