/** Identifies a report in the page that sent it and at Sentry. */

const SEGMENT = /\n\{"segment_id":(\d+)\}\n/

/** Returns the event id of an error or the segment of a replay; `undefined` for other envelopes. Each character is one byte. */
export function reportIdOf(envelope: string): string | undefined {
  const { event_id } = JSON.parse(envelope.slice(0, envelope.indexOf('\n')))
  const segment = SEGMENT.exec(envelope)?.[1]
  if (segment !== undefined) return `${event_id} segment ${segment}`
  return envelope.includes('\n{"type":"event"') ? event_id : undefined
}
