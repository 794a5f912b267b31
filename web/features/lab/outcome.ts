/** What became of a report that the lab raised, in words. */

import type { Answered } from '../../lib/sentry/response-events.ts'
import type { State } from '../../ui/status.ts'
import type { Receipt } from '../receipt.ts'

export type Outcome =
  | { is: 'sending' }
  | { is: 'answered'; answered: Answered; eventId?: string; receipt?: Receipt }
  /** Nobody answered, or it was not posted within `LONGEST_WAIT`. */
  | { is: 'unanswered' }
  /** It was posted as its page closed, which heard no answer. */
  | { is: 'unheard'; eventId: string }
  /** Nothing was to be reported, and nothing was. */
  | { is: 'left-out'; why: string }
  | { is: 'refused'; why: string }

export const LONGEST_WAIT = 15_000 // ms

export function describeOutcome(outcome: Outcome): { state: State; text: string } {
  if (outcome.is === 'sending') return { state: 'busy', text: 'on its way' }
  if (outcome.is === 'unanswered')
    return { state: 'bad', text: 'not taken: no answer, or this browser was asked to hold reports back' }
  if (outcome.is === 'unheard')
    return { state: 'idle', text: 'sent as the page closed: no page was left to hear the answer' }
  if (outcome.is === 'left-out') return { state: 'drop', text: `not reported, on purpose: ${outcome.why}` }
  if (outcome.is === 'refused') return { state: 'hold', text: REFUSED[outcome.why] ?? 'nothing was raised' }
  const { answered, receipt } = outcome
  if (receipt?.answer === 'filtered')
    return { state: 'drop', text: `dropped on purpose by this site: ${receipt.reason ?? 'a filter'}` }
  if (answered.status === 202) return { state: 'wait', text: 'kept by this site, and delivered later (202)' }
  return answered.status >= 200 && answered.status < 300
    ? { state: 'good', text: `accepted by this site (${answered.status})` }
    : { state: 'bad', text: `not taken by this site (${answered.status})` }
}

const REFUSED: Record<string, string> = {
  limited: 'nothing was raised: too much is asked at once, wait a minute',
  expired: 'nothing was raised: this page had been open for too long; press again',
  used: 'nothing was raised: press again',
  forged: 'nothing was raised: reload the page',
  off: 'nothing was raised: the lab has been closed',
}

/** The event's id in an envelope's first line, where it has one. */
export function eventIdOf(envelope: string): string | undefined {
  const id: unknown = JSON.parse(envelope.slice(0, envelope.indexOf('\n'))).event_id
  return typeof id === 'string' ? id : undefined
}

/** Whether an envelope bears `mark` in its own right; what is raised beside it has it in its breadcrumbs too. */
export function isMarked(envelope: string, mark: string): boolean {
  return envelope.includes(mark) && envelope.split('\n').some((line) => withoutCrumbs(line).includes(mark))
}

/** Of a line of JSON; others, like those of a picture, are nothing to look at. */
function withoutCrumbs(line: string): string {
  try {
    return JSON.stringify(JSON.parse(line, (key, value) => (key === 'breadcrumbs' ? undefined : value))) ?? ''
  } catch {
    return ''
  }
}
