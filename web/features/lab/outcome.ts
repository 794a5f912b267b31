/** Outcome of a report from the lab, in words. */

import type { SdkResponse } from '../../lib/sentry/response-events.ts'
import type { State } from '../../ui/states.ts'
import type { Receipt } from '../receipt.ts'

export type Outcome =
  | { is: 'sending' }
  | { is: 'answered'; response: SdkResponse; eventId?: string; receipt?: Receipt }
  /** No response, or nothing was posted within `MAX_WAIT_MS`. */
  | { is: 'unanswered' }
  /** Posted while the page closed, so that the page could not read the response. */
  | { is: 'unreadable'; eventId: string }
  /** Posted by the browser, whose reports a page cannot follow. */
  | { is: 'browser-report' }
  /** Nothing was to be reported, and nothing was. */
  | { is: 'not-reported'; why: string }
  | { is: 'rejected'; why: string }

export const MAX_WAIT_MS = 15_000

export function describeOutcome(outcome: Outcome): { state: State; text: string } {
  if (outcome.is === 'sending') return { state: 'busy', text: 'sending' }
  if (outcome.is === 'unanswered')
    return { state: 'bad', text: 'not delivered: no response, or this browser is rate-limited' }
  if (outcome.is === 'unreadable')
    return { state: 'idle', text: 'sent while the page closed: the response could not be read' }
  if (outcome.is === 'browser-report')
    return { state: 'idle', text: 'reported by the browser: a page cannot read the response' }
  if (outcome.is === 'not-reported')
    return { state: 'drop', text: `not reported, on purpose: ${outcome.why}` }
  if (outcome.is === 'rejected') return { state: 'hold', text: REJECTED[outcome.why] ?? 'no error triggered' }
  const { response, receipt } = outcome
  if (receipt?.outcome === 'filtered')
    return { state: 'drop', text: `filtered by this site: ${receipt.reason ?? 'a filter'}` }
  if (response.isSpooled) return { state: 'wait', text: 'spooled by this site, delivered later' }
  return response.status >= 200 && response.status < 300
    ? { state: 'good', text: `accepted by this site (${response.status})` }
    : { state: 'bad', text: `not accepted by this site (${response.status})` }
}

const REJECTED: Record<string, string> = {
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
