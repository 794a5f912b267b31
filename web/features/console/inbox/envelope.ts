/** Parses a stored envelope from a stream, leniently. Only a bounded part is held. */

import { formatJsonLine } from '../../../lib/format-json.ts'
import { cutText, READ_BYTES, TEXT } from '../bounds.ts'

export type ParsedItem = {
  /** Index among the items. */
  number: number
  type: string
  filename: string | undefined
  /** Header as JSON, cut: parsed, an untrusted one may take megabytes. */
  header: string
  /** Payload or its beginning. */
  payload: Buffer
  /** Size of the whole payload. */
  bytes: number
}

export type ParsedEnvelope = {
  header: Record<string, unknown>
  /** Items that `keep` selected. */
  items: ParsedItem[]
  /** Number of all items, and size of the whole envelope. */
  itemCount: number
  bytes: number
}

/** Header of an item before its payload; without `length`, the payload ends with its line. */
type ItemStart = { number: number; type: string; header: Record<string, unknown>; length?: number }

function fileNameIn({ filename }: Record<string, unknown>): string | undefined {
  return typeof filename === 'string' && filename !== '' ? filename : undefined
}

/** Returns a file name for an item, reduced to letters, digits and dots: an untrusted name must not reach a path or a header. */
export function downloadName({ number, type, header }: ItemStart): string {
  const name = fileNameIn(header) ?? `item-${number}-${type}`
  return (
    name
      .slice(-1_000)
      .replaceAll(/[^\w.-]+/g, '_')
      .replace(/^\.+/, '')
      .slice(-100) || 'item'
  )
}

/** Returns how many bytes of a payload to hold; `undefined` for none. `before` are the bytes held already. */
type Keep = (item: ItemStart, before: number) => number | undefined

type Piece = { header: Record<string, unknown> } | { item: ItemStart } | { payload: Buffer }

/** Parses a stream to its end, and holds the items that `keep` selects. A truncated payload is shorter than its `bytes`. */
export async function parseEnvelope(stream: AsyncIterable<Uint8Array>, keep: Keep): Promise<ParsedEnvelope> {
  const splitter = new Splitter()
  const collector = new Collector(keep)
  let bytes = 0
  for await (const chunk of stream) {
    bytes += chunk.length
    collector.add(splitter.push(viewOf(chunk)))
  }
  collector.add(splitter.end())
  return collector.envelope(bytes)
}

/** Finds the first item that matches in a stream. The caller has to read its payload to the end or cancel it. */
export async function findItem(
  stream: AsyncIterable<Uint8Array>,
  matches: (item: ItemStart) => boolean,
): Promise<{ item: ItemStart; payload: AsyncGenerator<Buffer> } | undefined> {
  const pieces = piecesOf(stream)
  for (let next = await pieces.next(); !next.done; next = await pieces.next())
    if ('item' in next.value && matches(next.value.item))
      return { item: next.value.item, payload: payloadOf(pieces) }
  return undefined
}

async function* payloadOf(pieces: AsyncGenerator<Piece>): AsyncGenerator<Buffer> {
  for await (const piece of pieces) {
    if (!('payload' in piece)) return
    yield piece.payload
  }
}

async function* piecesOf(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Piece> {
  const splitter = new Splitter()
  for await (const chunk of stream) yield* splitter.push(viewOf(chunk))
  yield* splitter.end()
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}

const NEWLINE = 0x0a

/** Splits an envelope that arrives in chunks. Payloads are views of the chunks. */
class Splitter {
  #reads: 'envelope header' | 'gap' | 'item header' | 'payload' | 'line' | 'nothing' = 'envelope header'
  #line: Buffer[] = []
  #lineBytes = 0
  /** Remaining bytes of the payload. */
  #left = 0
  #items = 0;

  *push(chunk: Buffer): Generator<Piece> {
    for (let at = 0; at < chunk.length && this.#reads !== 'nothing'; ) {
      if (this.#reads === 'gap') {
        if (chunk[at] === NEWLINE) at++
        else this.#reads = 'item header'
        continue
      }
      if (this.#reads === 'payload') {
        const payload = chunk.subarray(at, at + this.#left)
        at += payload.length
        this.#left -= payload.length
        if (this.#left === 0) this.#reads = 'gap'
        yield { payload }
        continue
      }
      const newline = chunk.indexOf(NEWLINE, at)
      const part = chunk.subarray(at, newline < 0 ? chunk.length : newline)
      at += part.length + 1
      if (this.#reads === 'line') {
        if (newline >= 0) this.#reads = 'gap'
        yield { payload: part }
        continue
      }
      this.#lineBytes += part.length
      if (this.#lineBytes > READ_BYTES.header) this.#reads = 'nothing'
      else this.#line.push(part)
      if (newline >= 0) yield* this.#endLine()
    }
  }

  *end(): Generator<Piece> {
    if (this.#reads === 'envelope header' || this.#reads === 'item header') yield* this.#endLine()
  }

  *#endLine(): Generator<Piece> {
    if (this.#reads === 'nothing') return
    const header = parseObject(Buffer.concat(this.#line).toString('utf8'))
    this.#line = []
    this.#lineBytes = 0
    if (this.#reads === 'envelope header') {
      this.#reads = 'gap'
      return yield { header }
    }
    const type = typeof header.type === 'string' ? header.type : ''
    const number = this.#items++
    const { length } = header
    if (Number.isSafeInteger(length) && Number(length) >= 0) {
      this.#left = Number(length)
      this.#reads = this.#left > 0 ? 'payload' : 'gap'
      yield { item: { number, type, header, length: this.#left } }
    } else {
      this.#reads = 'line'
      yield { item: { number, type, header } }
    }
  }
}

/** Collects the pieces of an envelope. */
class Collector {
  readonly #keep: Keep
  #header: Record<string, unknown> = {}
  #items: (Omit<ParsedItem, 'payload'> & { most: number; parts: Buffer[]; held: number; length?: number })[] =
    []
  #itemCount = 0
  #held = 0
  #isKept = false

  constructor(keep: Keep) {
    this.#keep = keep
  }

  add(pieces: Iterable<Piece>): void {
    for (const piece of pieces)
      if ('header' in piece) this.#header = piece.header
      else if ('item' in piece) this.#start(piece.item)
      else if (this.#isKept) this.#hold(piece.payload)
  }

  #start(item: ItemStart): void {
    this.#itemCount++
    const most = this.#keep(item, this.#held)
    this.#isKept = most !== undefined
    if (most === undefined) return
    const { header, ...start } = item
    const filename = fileNameIn(header)
    this.#items.push({
      ...{
        ...start,
        type: cutText(start.type, TEXT.name),
        filename: filename && cutText(filename, TEXT.name),
      },
      ...{ header: formatJsonLine(header, TEXT.line), most, parts: [], held: 0, bytes: 0 },
    })
  }

  #hold(payload: Buffer): void {
    const last = this.#items.at(-1)
    if (!last) return
    last.bytes += payload.length
    const part = payload.subarray(0, Math.max(0, last.most - last.held))
    if (part.length === 0) return
    last.held += part.length
    this.#held += part.length
    last.parts.push(Buffer.from(part)) // a view would hold the whole chunk
  }

  envelope(bytes: number): ParsedEnvelope {
    const items = this.#items.map(({ number, type, filename, header, length, parts, bytes: read }) => ({
      ...{ number, type, filename, header },
      payload: Buffer.concat(parts),
      bytes: length ?? read,
    }))
    return { header: this.#header, items, itemCount: this.#itemCount, bytes }
  }
}

function parseObject(text: string): Record<string, unknown> {
  const value = parseJson(text)
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
}

/** Returns `undefined` for invalid JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const KINDS: { type: string; begins: (bytes: Buffer) => boolean }[] = [
  {
    type: 'image/png',
    begins: (bytes) => bytes.subarray(0, 8).equals(Buffer.from('89504e470d0a1a0a', 'hex')),
  },
  { type: 'image/jpeg', begins: (bytes) => bytes.subarray(0, 3).equals(Buffer.from('ffd8ff', 'hex')) },
  { type: 'image/gif', begins: (bytes) => /^GIF8[79]a/.test(bytes.toString('latin1', 0, 6)) },
  {
    type: 'image/webp',
    begins: (bytes) =>
      bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP',
  },
]

export function imageType(bytes: Buffer): string | undefined {
  return KINDS.find(({ begins }) => begins(bytes))?.type
}

export function streamOf(
  first: IteratorResult<Uint8Array>,
  rest: AsyncGenerator<Uint8Array>,
): ReadableStream<Uint8Array> {
  let next: IteratorResult<Uint8Array> | undefined = first
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = next ?? (await rest.next())
        next = undefined
        if (done) controller.close()
        else controller.enqueue(value)
      },
      async cancel() {
        await rest.return(undefined)
      },
    },
    { highWaterMark: 0 },
  )
}
