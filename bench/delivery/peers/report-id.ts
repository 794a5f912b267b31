/** By what one report is known in the page that sent it and at Sentry. */

const SEGMENT = /\n\{"segment_id":(\d+)\}\n/

/** Of an envelope with an error its event, of a replay the segment; `undefined` of all others, which nobody counts. Each byte stands for one character. */
export function reportIdOf(envelope: string): string | undefined {
  const { event_id } = JSON.parse(envelope.slice(0, envelope.indexOf('\n')))
  const segment = SEGMENT.exec(envelope)?.[1]
  if (segment !== undefined) return `${event_id} segment ${segment}`
  return envelope.includes('\n{"type":"event"') ? event_id : undefined
}
