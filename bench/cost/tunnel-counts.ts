/** How many envelopes Culvert's own books say it has carried. */

import { setTimeout as sleep } from 'node:timers/promises'

const QUIET_MS = 100 // a feed without an end has told all it has when it falls silent

/** `culvert_envelopes_total`, summed over what was delivered at once. */
export function readDelivered(adminUrl: string): Promise<number> {
  return readTotal(adminUrl, 'culvert_envelopes_total', 'outcome="delivered"')
}

/** `culvert_envelopes_total`, summed over what was put into the spool. */
export function readSpooled(adminUrl: string): Promise<number> {
  return readTotal(adminUrl, 'culvert_envelopes_total', 'outcome="spooled"')
}

/** `culvert_spool_final_outcomes_total`, summed over what was delivered from the spool. */
export function readDrained(adminUrl: string): Promise<number> {
  return readTotal(adminUrl, 'culvert_spool_final_outcomes_total', 'final_outcome="delivered"')
}

async function readTotal(adminUrl: string, metric: string, label: string): Promise<number> {
  const text = await (await fetch(`${adminUrl}/metrics`)).text()
  const series = text.split('\n').filter((line) => line.startsWith(`${metric}{`) && line.includes(label))
  return series.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
}

/** Receipts ever made: those that the feed still has, and those it says are gone. */
export async function readReceipts(adminUrl: string, token: string, replica: string): Promise<number> {
  const body = await openFeed(adminUrl, token, { 'last-event-id': `${replica}:0` })
  return receiptsIn(await readUntilQuiet(body))
}

export type FeedReader = {
  /** Receipts that it was told of so far, or told that it has missed. */
  heard(): number
  close(): Promise<void>
}

/** Reads every receipt as it is settled, from now on. */
export async function followFeed(adminUrl: string, token: string): Promise<FeedReader> {
  const closed = new AbortController()
  const body = await openFeed(adminUrl, token, {}, closed.signal)
  let [heard, rest] = [0, '']
  const reading = body.pipeThrough(new TextDecoderStream()).pipeTo(new WritableStream({ write: hear }))
  return {
    heard: () => heard,
    close: async () => {
      closed.abort()
      await reading.catch(() => {}) // it was cut off
    },
  }

  function hear(text: string): void {
    rest += text
    const end = rest.lastIndexOf('\n\n') + 1
    heard += receiptsIn(rest.slice(0, end))
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
