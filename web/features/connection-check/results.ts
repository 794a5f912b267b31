/** What the self-check found, in plain words that claim no more than a page can know. */

import type { State } from '../../ui/status.ts'
import type { Receipt } from '../receipt.ts'
import type { Plan, Try } from './probe.ts'

export type Findings = {
  direct?: Try
  tunnel?: Try
  /** `undefined` while it is looked up, `none` when this site has none to show. */
  receipt?: Receipt | 'none'
}

export type Finding = { state: State; text: string; figure?: string }

export type Verdict = { state: State; headline: string; text: string }

export function describeDirect(plan: Plan, tried: Try | undefined): Finding {
  if (!plan.direct)
    return {
      state: 'idle',
      text: 'Not tried: no Sentry is configured here. Reports stay with this site, so there is no other place to reach.',
    }
  if (!tried) return { state: 'busy', text: 'Trying …' }
  return { ...directly(tried), figure: inMs(tried) }
}

function directly(tried: Try): Finding {
  if (tried.outcome === 'forbidden')
    return {
      state: 'bad',
      text: 'Our own fault: the security policy of this page stopped it.',
    }
  if (tried.outcome === 'stopped')
    return {
      state: 'bad',
      text: 'It was stopped in this browser or network before it reached Sentry.',
    }
  if (tried.outcome === 'unreadable')
    return {
      state: 'hold',
      text: 'Something answered there, and does not let a page read whether it took the report.',
    }
  if (tried.outcome === 'late') return { state: 'bad', text: 'There was no answer within 10 seconds.' }
  return isTaken(tried)
    ? { state: 'good', text: 'Sentry answered this browser itself.' }
    : { state: 'hold', text: `Sentry was reached, and answered with ${tried.status}.` }
}

export function describeTunnel(plan: Plan, { tunnel, receipt }: Findings): Finding {
  if (!tunnel) return { state: 'busy', text: 'Trying …' }
  return { ...byTunnel(plan, tunnel, receipt), figure: inMs(tunnel) }
}

function byTunnel(plan: Plan, tried: Try, receipt: Findings['receipt']): Finding {
  if (tried.outcome === 'forbidden')
    return { state: 'bad', text: 'Our own fault: the security policy of this page stopped it.' }
  if (tried.outcome === 'stopped' || tried.outcome === 'unreadable')
    return {
      state: 'bad',
      text: 'It was stopped before this site answered: by this browser, the network, or a fault of this site.',
    }
  if (tried.outcome === 'late') return { state: 'bad', text: 'This site did not answer within 10 seconds.' }
  if (isKept(tried, receipt))
    return {
      state: 'wait',
      text: 'This site took it and keeps it: Sentry did not take it just now, and gets it later.',
    }
  if (isTaken(tried))
    return {
      state: 'good',
      text: plan.direct
        ? 'This site took it and handed it on; Sentry answered.'
        : 'This site took it and keeps it in its own inbox.',
    }
  if (isDeclined(receipt))
    return { state: 'bad', text: `This site handed it on, and Sentry declined it (${tried.status}).` }
  if (tried.status === 429)
    return { state: 'hold', text: 'This site was reached, and holds such reports back for the moment.' }
  return { state: 'bad', text: `This site was reached, but did not take it (${tried.status}).` }
}

/** All of it in one sentence, and what follows from it; `undefined` until both are tried. */
export function judge(plan: Plan, { direct, tunnel, receipt }: Findings): Verdict | undefined {
  if (!tunnel || (plan.direct && !direct)) return undefined
  if (direct && isKept(tunnel, receipt)) return keptVerdict(direct)
  if (isTaken(tunnel)) return direct ? throughVerdict(direct) : INBOX
  if (isDeclined(receipt))
    return notThrough('Sentry declined it. Send the result below to whoever runs this site.')
  if (!direct) return notThrough('Whoever runs this site should look at it: send them the result below.')
  return notThrough(
    direct.outcome === 'answered'
      ? 'Sentry itself was reached, so it is this site that should be looked at: send the result below to whoever runs it.'
      : 'If other pages work in this browser, send the result below to whoever runs this site.',
  )
}

const INBOX: Verdict = {
  state: 'good',
  headline: 'Reports from this browser arrive.',
  text: 'This site keeps them in its own inbox.',
}

function keptVerdict(direct: Try): Verdict {
  if (direct.outcome === 'stopped' || direct.outcome === 'late')
    return {
      state: 'wait',
      headline: 'Nothing reaches Sentry just now, neither from here nor by this site.',
      text: 'So it is probably not your browser. This site delivers reports later.',
    }
  return {
    state: 'wait',
    headline: 'Reports are kept by this site, and delivered later.',
    text:
      direct.outcome === 'answered'
        ? 'Your browser reached Sentry by itself; this site got no good answer, and tries again.'
        : 'Sentry took none from this site just now. Whether your browser reaches it, this page cannot tell.',
  }
}

const NOTICED = 'Errors here can be noticed all the same.'

function throughVerdict(direct: Try): Verdict {
  if (direct.outcome === 'forbidden')
    return {
      state: 'hold',
      headline: 'Reports arrive by way of this site. Our direct try failed by our own fault.',
      text: 'Whoever runs this site should look at its Content-Security-Policy.',
    }
  if (direct.outcome === 'unreadable')
    return {
      state: 'good',
      headline: 'Reports get through by way of this site. This page cannot judge the direct way.',
      text: `An answer came that no page may read. ${NOTICED}`,
    }
  if (isTaken(direct))
    return {
      state: 'good',
      headline: 'Reports get through from this browser, both ways.',
      text: 'Nothing here stands between you and Sentry. This site carries them all the same.',
    }
  if (direct.outcome === 'answered')
    return {
      state: 'good',
      headline: 'Reports get through by way of this site. Directly, Sentry answered but took none.',
      text: `Nothing here stands in between. ${NOTICED}`,
    }
  return {
    state: 'good',
    headline: 'Reports get through, but only by way of this site.',
    text:
      direct.outcome === 'late'
        ? `The direct way gave no answer in time. ${NOTICED}`
        : `The direct way is stopped in this browser or network. ${NOTICED}`,
  }
}

function notThrough(text: string): Verdict {
  return { state: 'bad', headline: 'Reports from this browser do not get through.', text }
}

/** A few lines that a support person can read. */
export function summarise(
  plan: Plan,
  findings: Findings,
  place: { url: string; time: Date; agent: string },
): string {
  const { receipt, tunnel } = findings
  const token = tunnel?.outcome === 'answered' ? tunnel.token : undefined
  const line = ({ text, figure }: Finding) => (figure ? `${text} (${figure})` : text)
  return [
    `Self-check of ${place.url} at ${place.time.toISOString()}`,
    judge(plan, findings)?.headline ?? '',
    `Straight to Sentry: ${line(describeDirect(plan, findings.direct))}`,
    `Through this site: ${line(describeTunnel(plan, findings))}`,
    `Receipt: ${token ?? 'none'}${receipt && receipt !== 'none' ? `, ${receipt.answer}${receipt.reason ? ` (${receipt.reason})` : ''}` : ''}`,
    `Browser: ${place.agent}`,
  ].join('\n')
}

function isTaken(tried: Try): boolean {
  return tried.outcome === 'answered' && tried.status >= 200 && tried.status < 300
}

/** 202 is what the tunnel answers for what it keeps. */
function isKept(tried: Try, receipt: Findings['receipt']): boolean {
  if (receipt && receipt !== 'none') return receipt.answer === 'spooled'
  return tried.outcome === 'answered' && tried.status === 202
}

/** By Sentry, which had it from this site. */
function isDeclined(receipt: Findings['receipt']): boolean {
  return receipt !== undefined && receipt !== 'none' && receipt.answer === 'declined'
}

function inMs({ took }: Try): string {
  return `${took} ms`
}
