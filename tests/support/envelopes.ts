/** Builds envelopes without compression or unusual white space. */

export const EVENT_ID = '9ec79c33ec9942ab8353589fcb2e04dc'

export type Part = { header: Record<string, unknown>; payload: string | Buffer }

/** Joins lines by the grammar: header, then each item's header and payload, each ended by a newline. */
export function envelopeOf(header: Record<string, unknown>, parts: Part[]): Buffer {
  const newline = Buffer.from('\n')
  return Buffer.concat([
    Buffer.from(`${JSON.stringify(header)}\n`),
    ...parts.flatMap((part) => [
      Buffer.from(`${JSON.stringify(part.header)}\n`),
      Buffer.from(part.payload),
      newline,
    ]),
  ])
}

/** Builds one error of the project of `dsn`. */
export function errorOf(dsn: string | undefined, header: Record<string, unknown> = {}): Buffer {
  const payload = JSON.stringify({ message: 'hello world', level: 'error' })
  return envelopeOf({ event_id: EVENT_ID, ...(dsn && { dsn }), ...header }, [
    { header: { type: 'event', length: payload.length }, payload },
  ])
}

/** Builds one attachment with `payload`. */
export function attachmentOf(dsn: string, payload: Buffer, header: object = {}): Buffer {
  return envelopeOf({ event_id: EVENT_ID, dsn, ...header }, [
    { header: { type: 'attachment', length: payload.length, filename: 'a.bin' }, payload },
  ])
}
