/** Reads the number of envelopes from Culvert's metrics and receipts. */

import { setTimeout as sleep } from 'node:timers/promises'

const QUIET_MS = 100 // a feed without end counts as complete when nothing arrives

/** Returns the sum of `culvert_envelopes_total` for delivered envelopes. */
export function readDelivered(adminUrl: string): Promise<number> {
  return readTotal(adminUrl, 'culvert_envelopes_total', 'outcome="delivered"')
}

/** Returns the sum of `culvert_envelopes_total` for spooled envelopes. */
export function readSpooled(adminUrl: string): Promise<number> {
  return readTotal(adminUrl, 'culvert_envelopes_total', 'outcome="spooled"')
}

/** Returns the sum of `culvert_spool_final_outcomes_total` for delivered envelopes. */
export function readDrained(adminUrl: string): Promise<number> {
  return readTotal(adminUrl, 'culvert_spool_final_outcomes_total', 'final_outcome="delivered"')
}

async function readTotal(adminUrl: string, metric: string, label: string): Promise<number> {
  const text = await (await fetch(`${adminUrl}/metrics`)).text()
  const series = text.split('\n').filter((line) => line.startsWith(`${metric}{`) && line.includes(label))
  return series.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
}

/** Returns the number of receipts: those in the feed, and those that it reports as dropped. */
export async function readReceipts(adminUrl: string, token: string, replica: string): Promise<number> {
  const body = await openFeed(adminUrl, token, { 'last-event-id': `${replica}:0` })
  return receiptsIn(await readUntilQuiet(body))
}

/** Reads the receipts from now on. */
export async function followFeed(adminUrl: string, token: string) {
  const closed = new AbortController()
  const body = await openFeed(adminUrl, token, {}, closed.signal)
  let [chunk, rest] = [0, '']
  const reading = body.pipeThrough(new TextDecoderStream()).pipeTo(new WritableStream({ write: readUntil }))
  return {
    /** Returns the number of receipts received so far, or reported as missed. */
    chunk: () => chunk,
    close: async () => {
      closed.abort()
      await reading.catch(() => {}) // the connection was closed
    },
  }

  function readUntil(text: string): void {
    rest += text
    const end = rest.lastIndexOf('\n\n') + 1
    chunk += receiptsIn(rest.slice(0, end))
    rest = rest.slice(end)
  }
}

async function openFeed(
  adminUrl: string,
  token: string,
  headers: Record<string, string>,
  signal: AbortSignal | null = null,
): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
  const init = { headers: { ...headers, authorization: `Bearer ${token}` }, signal }
  const { status, body } = await fetch(`${adminUrl}/receipts`, init)
  if (status !== 200 || !body) throw new Error(`the feed of receipts was answered ${status}`)
  return body
}

function receiptsIn(feed: string): number {
  const gaps = [...feed.matchAll(/"missed":(\d+)/g)]
  return gaps.reduce((sum, [, missed]) => sum + Number(missed), feed.split('event: receipt').length - 1)
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
