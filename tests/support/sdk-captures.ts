/** Requests as real SDKs sent them, kept byte for byte in `tests/fixtures/captures`. */

import { readdirSync, readFileSync } from 'node:fs'

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

/** All captures by name. */
export function captures(): Capture[] {
  const names = readdirSync(FOLDER).filter((file) => file.endsWith('.bin'))
  return names.sort().map((file) => readCapture(file.slice(0, -'.bin'.length)))
}

/** Returns a capture, like `capture('browser-11.12.0-rejection')`. */
export function capture(name: string): Capture {
  return readCapture(name)
}

/** Returns the body of a capture, as the same SDK would send it to the project of `dsn`. */
export function captureFor(dsn: string, name: string): Buffer {
  const { body } = capture(name)
  const end = body.indexOf('\n')
  const header = { ...JSON.parse(body.toString('utf8', 0, end)), dsn }
  return Buffer.concat([Buffer.from(JSON.stringify(header)), body.subarray(end)])
}

function readCapture(name: string): Capture {
  const { method, url, rawHeaders, envelopeHeader } = JSON.parse(
    readFileSync(new URL(`${name}.json`, FOLDER), 'utf8'),
  )
  const body = readFileSync(new URL(`${name}.bin`, FOLDER))
  return { name, method, url, rawHeaders, body, ...(envelopeHeader.dsn && { dsn: envelopeHeader.dsn }) }
}
