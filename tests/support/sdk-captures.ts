/** Requests as real SDKs sent them, kept byte for byte in `tests/fixtures/captures`. */

import { readFileSync } from 'node:fs'

export type Capture = {
  /** SDK, version and scenario, like `browser-11.12.0-replay-2`. */
  name: string
  method: string
  /** Path and query of the request line. */
  url: string
  /** Alternating names and values, as received. */
  rawHeaders: string[]
  /** The body exactly as it was sent. */
  body: Buffer
  /** DSN in the envelope header; absent when the SDK used no tunnel. */
  dsn?: string
}

const FOLDER = new URL('../fixtures/captures/', import.meta.url)

const REQUESTS: Record<string, Pick<Capture, 'method' | 'url' | 'rawHeaders'>> = JSON.parse(
  readFileSync(new URL('requests.json', FOLDER), 'utf8'),
)

/** All captures by name. */
export function captures(): Capture[] {
  return Object.keys(REQUESTS).map(capture)
}

/** Returns a capture, like `capture('browser-11.12.0-rejection')`. */
export function capture(name: string): Capture {
  const request = REQUESTS[name]
  if (request === undefined) throw new Error(`tests/fixtures/captures/requests.json has no ${name}`)
  const body = readBody(name)
  const { dsn } = headerOf(body)
  return { name, ...request, body, ...(dsn && { dsn }) }
}

/** Returns the body of a capture, as the same SDK would send it to the project of `dsn`. */
export function captureFor(dsn: string, name: string): Buffer {
  const body = readBody(name)
  const header = { ...headerOf(body), dsn }
  return Buffer.concat([Buffer.from(JSON.stringify(header)), body.subarray(body.indexOf('\n'))])
}

function readBody(name: string): Buffer {
  return readFileSync(new URL(`${name}.bin`, FOLDER))
}

function headerOf(body: Buffer): { dsn?: string } {
  return JSON.parse(body.toString('utf8', 0, body.indexOf('\n')))
}
