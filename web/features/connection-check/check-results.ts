/** Results of the connection check in plain words, limited to what a page can know. */

import { outcomeLabel, type State } from '../../ui/states.ts'
import type { Receipt } from '../receipt.ts'
import type { Attempt, Plan } from './probe.ts'

export type Findings = {
  direct?: Attempt
  tunnel?: Attempt
  /** `undefined` while it is looked up, `none` when this site has none to show. */
  receipt?: Receipt | 'none'
}

type Finding = { state: State; text: string; figure?: string }

type Verdict = { state: State; headline: string; text: string }

export function describeDirect(plan: Plan, attempt: Attempt | undefined): Finding {
  if (!plan.direct)
    return { state: 'idle', text: 'Not tested: no Sentry is configured. Reports stay on this site.' }
  if (!attempt) return { state: 'busy', text: 'Testing …' }
  return { ...directFinding(attempt), figure: inMs(attempt) }
}

const FORBIDDEN =
  'Configuration error of this site: the Content-Security-Policy of this page blocked the request.'

/** Findings on the direct route without a readable response. */
const DIRECT_FAILURES: Record<Exclude<Attempt['outcome'], 'answered'>, Finding> = {
  forbidden: { state: 'bad', text: FORBIDDEN },
  stopped: { state: 'bad', text: 'The request failed in this browser or network before it reached Sentry.' },
  unreadable: {
    state: 'hold',
    text: 'There was a response, but the browser does not let this page read it.',
  },
  late: { state: 'bad', text: 'There was no response within 10 s.' },
}

function directFinding(attempt: Attempt): Finding {
  if (attempt.outcome !== 'answered') return DIRECT_FAILURES[attempt.outcome]
  return isAccepted(attempt)
    ? { state: 'good', text: 'Sentry responded to this browser directly.' }
    : { state: 'hold', text: `Sentry was reached, and responded with ${attempt.status}.` }
}

export function describeTunnel(plan: Plan, { tunnel, receipt }: Findings): Finding {
  if (!tunnel) return { state: 'busy', text: 'Testing …' }
  return { ...tunnelFinding(plan, tunnel, receipt), figure: inMs(tunnel) }
}

function tunnelFinding(plan: Plan, attempt: Attempt, receipt: Findings['receipt']): Finding {
  if (attempt.outcome === 'forbidden') return { state: 'bad', text: FORBIDDEN }
  if (attempt.outcome === 'stopped' || attempt.outcome === 'unreadable')
    return {
      state: 'bad',
      text: 'The request failed before this site responded: in this browser, in the network or on this site.',
    }
  if (attempt.outcome === 'late') return { state: 'bad', text: 'This site did not respond within 10 s.' }
  if (isSpooled(attempt, receipt))
    return {
      state: 'wait',
      text: 'This site stored the report and delivers it later: Sentry did not accept it just now.',
    }
  if (isAccepted(attempt))
    return {
      state: 'good',
      text: plan.direct
        ? 'This site forwarded the report, and Sentry responded.'
        : 'This site stored the report in its own inbox.',
    }
  if (isDeclined(receipt))
    return {
      state: 'bad',
      text: `This site forwarded the report, and Sentry declined it (${attempt.status}).`,
    }
  if (attempt.status === 429)
    return {
      state: 'hold',
      text: 'This site was reached, but it limits the number of such reports at the moment.',
    }
  return { state: 'bad', text: `This site was reached, but did not accept the report (${attempt.status}).` }
}

/** Summarises both results in a headline and a sentence; `undefined` until both routes are tested. */
export function judge(plan: Plan, { direct, tunnel, receipt }: Findings): Verdict | undefined {
  if (!tunnel || (plan.direct && !direct)) return undefined
  if (direct && isSpooled(tunnel, receipt)) return spooledVerdict(direct)
  if (isAccepted(tunnel)) return direct ? tunnelVerdict(direct) : INBOX
  if (isDeclined(receipt))
    return failedVerdict('Sentry declined the report. Send the result below to the people who run this site.')
  if (!direct) return failedVerdict('Send the result below to the people who run this site.')
  return failedVerdict(
    direct.outcome === 'answered'
      ? 'Sentry was reached directly, so the error is on this site. Send the result below to the people who run it.'
      : 'If other pages work in this browser, send the result below to the people who run this site.',
  )
}

const INBOX: Verdict = {
  state: 'good',
  headline: 'Reports from this browser arrive.',
  text: 'This site stores them in its own inbox.',
}

function spooledVerdict(direct: Attempt): Verdict {
  if (direct.outcome === 'stopped' || direct.outcome === 'late')
    return {
      state: 'wait',
      headline: 'Sentry is unreachable, both from this browser and from this site.',
      text: 'Your browser is probably not the cause. This site stores reports and delivers them later.',
    }
  return {
    state: 'wait',
    headline: 'This site stores reports and delivers them later.',
    text:
      direct.outcome === 'answered'
        ? 'Your browser reached Sentry directly. This site did not reach it, and retries.'
        : 'Sentry accepted no report from this site just now. This page cannot tell whether your browser reaches Sentry.',
  }
}

const ARRIVES_ANYWAY = 'Error reports arrive nevertheless.'

function tunnelVerdict(direct: Attempt): Verdict {
  if (direct.outcome === 'forbidden')
    return {
      state: 'hold',
      headline:
        'Reports arrive through this site. The direct request failed because of a configuration error of this site.',
      text: 'The people who run this site should check its Content-Security-Policy.',
    }
  if (direct.outcome === 'unreadable')
    return {
      state: 'good',
      headline: 'Reports arrive through this site. This page cannot judge the direct route.',
      text: `The browser does not let this page read Sentry’s direct response. ${ARRIVES_ANYWAY}`,
    }
  if (isAccepted(direct))
    return {
      state: 'good',
      headline: 'Reports from this browser arrive on both routes.',
      text: 'Nothing blocks the direct route to Sentry. This site forwards reports in any case.',
    }
  if (direct.outcome === 'answered')
    return {
      state: 'good',
      headline: 'Reports arrive through this site. On the direct route, Sentry responded but accepted none.',
      text: `Nothing blocks the direct route. ${ARRIVES_ANYWAY}`,
    }
  return {
    state: 'good',
    headline: 'Reports arrive, but only through this site.',
    text:
      direct.outcome === 'late'
        ? `The direct request got no response in time. ${ARRIVES_ANYWAY}`
        : `The direct request failed in this browser or network. ${ARRIVES_ANYWAY}`,
  }
}

function failedVerdict(text: string): Verdict {
  return { state: 'bad', headline: 'Reports from this browser do not arrive.', text }
}

/** Writes the results as a few lines for support. */
export function summarise(
  plan: Plan,
  findings: Findings,
  place: { url: string; time: Date; agent: string },
): string {
  const { receipt, tunnel } = findings
  const token = tunnel?.outcome === 'answered' ? tunnel.token : undefined
  const line = ({ text, figure }: Finding) => (figure ? `${text} (${figure})` : text)
  return [
    `Connection check of ${place.url} at ${place.time.toISOString()}`,
    judge(plan, findings)?.headline ?? '',
    `Directly to Sentry: ${line(describeDirect(plan, findings.direct))}`,
    `Through this site: ${line(describeTunnel(plan, findings))}`,
    `Receipt: ${token ?? 'none'}${receipt && receipt !== 'none' ? `, ${outcomeLabel(receipt.outcome)}${receipt.reason ? ` (${receipt.reason})` : ''}` : ''}`,
    `Browser: ${place.agent}`,
  ].join('\n')
}

function isAccepted(attempt: Attempt): boolean {
  return attempt.outcome === 'answered' && attempt.status >= 200 && attempt.status < 300
}

/** The receipt is known later than the response. */
function isSpooled(attempt: Attempt, receipt: Findings['receipt']): boolean {
  if (receipt && receipt !== 'none') return receipt.outcome === 'spooled'
  return attempt.outcome === 'answered' && attempt.isSpooled === true
}

/** Sentry declined the envelope that this site forwarded. */
function isDeclined(receipt: Findings['receipt']): boolean {
  return receipt !== undefined && receipt !== 'none' && receipt.outcome === 'declined'
}

function inMs({ durationMs }: Attempt): string {
  return `${durationMs} ms`
}
