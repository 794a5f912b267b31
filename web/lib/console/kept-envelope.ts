/** A kept envelope taken apart to be shown: leniently, since a tunnel has let it in, and whatever it says is data. */

export type KeptItem = { type: string; header: Record<string, unknown>; payload: Buffer }

export type KeptEnvelope = { header: Record<string, unknown>; items: KeptItem[] }

const NEWLINE = 0x0a

export function readKept(bytes: Buffer): KeptEnvelope {
  const first = lineEnd(bytes, 0)
  const items: KeptItem[] = []
  for (let at = first + 1; at < bytes.length; ) {
    if (bytes[at] === NEWLINE) {
      at++
      continue
    }
    const start = lineEnd(bytes, at) + 1
    const header = parseObject(bytes.toString('utf8', at, start - 1))
    const length = header.length
    const end = typeof length === 'number' && length >= 0 ? start + length : lineEnd(bytes, start)
    const type = typeof header.type === 'string' ? header.type : ''
    items.push({ type, header, payload: bytes.subarray(start, end) })
    at = Math.max(end + 1, start)
  }
  return { header: parseObject(bytes.toString('utf8', 0, first)), items }
}

function lineEnd(bytes: Buffer, from: number): number {
  const end = bytes.indexOf(NEWLINE, from)
  return end < 0 ? bytes.length : end
}

function parseObject(text: string): Record<string, unknown> {
  const value = parseJson(text)
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
}

/** `undefined` for what is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
