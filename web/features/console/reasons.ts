/** Why an envelope did not go through as it came, in a sentence, and what to do about it. */

import type { FateTime, HoldReason, SiftReason } from 'tunnel/contract'
import { type Code, REFUSALS } from 'tunnel/rejections'

export type Explanation = { sentence: string; fix: string }

const REASONS: Record<HoldReason | SiftReason, Explanation> = {
  limited: {
    sentence: 'Sentry had asked before to hold this kind back, so it was not sent.',
    fix: 'The overview says until when. Raise the quota at Sentry, or lower the SDK’s sample rates.',
  },
  shed: {
    sentence: 'Its address, or its project, sent more than this tunnel takes of one.',
    fix: 'Look in the feed for a page that reports in a loop. If many visitors share one address, set TRUSTED_PROXIES; else raise the limits.',
  },
  empty: {
    sentence: 'There was no item in it.',
    fix: 'Nothing is lost. An SDK sends such an envelope when its own filters leave nothing of it.',
  },
  duplicate: {
    sentence: 'The same bytes wait in the spool already: a browser has sent them twice.',
    fix: 'Nothing: it is delivered once.',
  },
  'next-noise': {
    sentence:
      'Next.js had raised it for itself: a redirect, a page that is not there, an unfinished transaction.',
    fix: 'Nothing, unless you want to see them: then switch the filter off.',
  },
  'browser-extensions': {
    sentence: 'An extension of the visitor’s browser failed, and not the site.',
    fix: 'Take browser-extensions out of FILTERS to have them all the same.',
  },
  'web-crawlers': {
    sentence: 'A crawler sent it, by its User-Agent.',
    fix: 'Take web-crawlers out of FILTERS to have them all the same.',
  },
  localhost: {
    sentence: 'It comes from a page at localhost.',
    fix: 'Take localhost out of FILTERS to have it all the same.',
  },
  'filtered-transaction': {
    sentence: 'The transaction is a health check.',
    fix: 'Take health-checks out of FILTERS to have it all the same.',
  },
  'error-message': {
    sentence: 'Its message is one of those that are to be dropped.',
    fix: 'Narrow the patterns if they catch too much.',
  },
  'release-version': {
    sentence: 'Its release is one of those that are to be dropped.',
    fix: 'Narrow the patterns if they catch too much.',
  },
}

/** Where no reason stands beside the fate. */
const WITHOUT_REASON: { readonly [fate in FateTime['fate']]?: Explanation } = {
  limited: {
    sentence: 'Sentry answered that it holds this kind back for now.',
    fix: 'The overview says until when. Raise the quota at Sentry, or lower the SDK’s sample rates.',
  },
  declined: {
    sentence: 'Sentry answered that it does not take it.',
    fix: 'Open one in the feed for Sentry’s status: 400 is an envelope that it cannot read, 401 or 403 a key or a project that is not active, 413 one that is too large.',
  },
  aborted: {
    sentence: 'The sender left before it had arrived whole.',
    fix: 'Nothing while they are few: visitors leave pages. If they are many, look for a proxy in front that cuts uploads off.',
  },
  expired: {
    sentence:
      'It waited in the spool for longer than it may, or made room there for what is more important. Sentry was told.',
    fix: 'See on the overview why Sentry did not take envelopes for so long, and give the spool more time or room if it has to last.',
  },
  purged: {
    sentence: 'An operator took it out of the spool. Sentry was told.',
    fix: 'Nothing: the tunnel’s log has who, and when.',
  },
}

/** `undefined` for what went through, and for a reason that a newer replica gives. */
export function explain(fate: FateTime['fate'], reason: string | undefined): Explanation | undefined {
  if (!reason) return WITHOUT_REASON[fate]
  if (Object.hasOwn(REFUSALS, reason)) return REFUSALS[reason as Code]
  return Object.hasOwn(REASONS, reason) ? REASONS[reason as keyof typeof REASONS] : undefined
}
