/** Outcome of a report from the lab, in words. */

import type { Answered } from '../../lib/sentry/response-events.ts'
import type { State } from '../../ui/states.ts'
import type { VisitorReceipt } from '../receipt.ts'

export type Outcome =
  | { is: 'sending' }
  | { is: 'answered'; answered: Answered; eventId?: string; receipt?: VisitorReceipt }
  /** No response, or nothing was posted within `LONGEST_WAIT`. */
  | { is: 'unanswered' }
  /** Posted while the page closed, so that the page could not read the response. */
  | { is: 'unheard'; eventId: string }
  /** Nothing was to be reported, and nothing was. */
  | { is: 'left-out'; why: string }
  | { is: 'refused'; why: string }

export const LONGEST_WAIT = 15_000 // ms

export function describeOutcome(outcome: Outcome): { state: State; text: string } {
  if (outcome.is === 'sending') return { state: 'busy', text: 'sending' }
  if (outcome.is === 'unanswered')
    return { state: 'bad', text: 'not delivered: no response, or this browser is rate-limited' }
  if (outcome.is === 'unheard')
    return { state: 'idle', text: 'sent while the page closed: the response could not be read' }
  if (outcome.is === 'left-out') return { state: 'drop', text: `not reported, on purpose: ${outcome.why}` }
  if (outcome.is === 'refused') return { state: 'hold', text: REFUSED[outcome.why] ?? 'no error triggered' }
  const { answered, receipt } = outcome
  if (receipt?.outcome === 'filtered')
    return { state: 'drop', text: `filtered by this site: ${receipt.reason ?? 'a filter'}` }
  if (answered.status === 202) return { state: 'wait', text: 'spooled by this site, delivered later (202)' }
  return answered.status >= 200 && answered.status < 300
    ? { state: 'good', text: `accepted by this site (${answered.status})` }
    : { state: 'bad', text: `not accepted by this site (${answered.status})` }
}

const REFUSED: Record<string, string> = {
  limited: 'no error triggered: too many requests, wait a minute',
  expired: 'no error triggered: this page was open for too long; press again',
  used: 'no error triggered: press again',
  forged: 'no error triggered: reload the page',
  off: 'no error triggered: the error lab is off',
}

/** Returns the event ID in the envelope header, if there is one. */
export function eventIdOf(envelope: string): string | undefined {
  const id: unknown = JSON.parse(envelope.slice(0, envelope.indexOf('\n'))).event_id
  return typeof id === 'string' ? id : undefined
}

/** Reports whether an envelope contains `mark` outside its breadcrumbs, which may mention other reports. */
export function isMarked(envelope: string, mark: string): boolean {
  return envelope.includes(mark) && envelope.split('\n').some((line) => withoutCrumbs(line).includes(mark))
}

/** Removes breadcrumbs from a line of JSON; returns an empty text for other lines, such as image data. */
function withoutCrumbs(line: string): string {
  try {
    return JSON.stringify(JSON.parse(line, (key, value) => (key === 'breadcrumbs' ? undefined : value))) ?? ''
  } catch {
    return ''
  }
}
