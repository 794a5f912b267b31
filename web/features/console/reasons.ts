/** Explanation of each reason in a sentence, with its remedy. */

import type { FilteredReason, OutcomeTime, RateLimitedReason } from 'contract/admin-api'
import { REJECTIONS, type RejectionCode } from 'contract/rejections'
import { MEANINGS } from './outcomes.ts'

type Explanation = { sentence: string; fix: string }

const REASONS: Record<RateLimitedReason | FilteredReason, Explanation> = {
  limited: {
    sentence: 'The server had set a rate limit for this category, so the envelope was not sent.',
    fix: 'The overview shows when the limit ends, or that the server does not store the category. Raise the quota on the server, or lower the SDK’s sample rates.',
  },
  throttled: {
    sentence: 'Its client address exceeded the rate limit of this tunnel.',
    fix: 'Look in the live feed for a page that reports in a loop. If many visitors share one address, set TRUSTED_PROXIES; otherwise raise ADDRESS_RATE.',
  },
  quota: {
    sentence: 'A quota of this tunnel for its category was used up.',
    fix: 'Raise QUOTA, or wait for the next period. The page Policies shows the use.',
  },
  'quota-address': {
    sentence: 'Its client address had used 5 % of a quota of this tunnel.',
    fix: 'Look in the live feed for a page that reports in a loop. If many visitors share one address, set TRUSTED_PROXIES.',
  },
  empty: {
    sentence: 'It contained no items.',
    fix: 'Nothing is lost. An SDK sends such an envelope when its own filters remove every item.',
  },
  duplicate: {
    sentence: 'The same bytes are already pending in the spool: a browser sent them twice.',
    fix: 'No action needed: the envelope is delivered once.',
  },
  'report-type': {
    sentence: 'A browser sent this report without an SDK. This tunnel does not forward its type.',
    fix: 'Remove it from FILTERS, or stop sending the header that asks browsers for it.',
  },
  'report-own-path': {
    sentence:
      'A browser reported about a page or a request of Culvert: a tunnel path, the console or the health check.',
    fix: 'Nothing of your pages is lost. The console and the metrics show why requests to the tunnel fail.',
  },
  'csp-extensions': {
    sentence: 'The content security policy blocked an extension of the visitor’s browser.',
    fix: 'Add -csp-extensions to FILTERS to receive such reports.',
  },
  'csp-about': {
    sentence: 'The content security policy blocked a page of the browser itself.',
    fix: 'Add -csp-about to FILTERS to receive such reports.',
  },
  'csp-blob': {
    sentence: 'The content security policy blocked a blob, which is mostly that of an extension.',
    fix: 'Add -csp-blob to FILTERS if the site creates blobs, for example for workers.',
  },
  'csp-injected-scripts': {
    sentence: 'The content security policy blocked a host known for scripts that are injected into pages.',
    fix: 'Add -csp-injected-scripts to FILTERS to receive such reports.',
  },
  'csp-localhost': {
    sentence: 'The content security policy blocked something of localhost.',
    fix: 'Remove csp-localhost from FILTERS to receive such reports.',
  },
  'next-noise': {
    sentence: 'Next.js raised it internally: a redirect, a missing page or an unfinished page load.',
    fix: 'No action needed. To receive such events, set DROP_NEXT_NOISE=off.',
  },
  'browser-extensions': {
    sentence: 'An extension of the visitor’s browser failed, not the site.',
    fix: 'Remove browser-extensions from FILTERS to receive such events.',
  },
  'web-crawlers': {
    sentence: 'A crawler sent it, according to its User-Agent.',
    fix: 'Remove web-crawlers from FILTERS to receive such events.',
  },
  'legacy-browsers': {
    sentence: 'A browser sent it that is too old, according to its User-Agent.',
    fix: 'Remove legacy-browsers from FILTERS to receive such events.',
  },
  'ip-address': {
    sentence: 'Its client address is in FILTER_ADDRESSES.',
    fix: 'Remove the address or network from FILTER_ADDRESSES to receive such events.',
  },
  localhost: {
    sentence: 'It was sent from a page on localhost.',
    fix: 'Remove localhost from FILTERS to receive such events.',
  },
  'filtered-transaction': {
    sentence: 'The transaction is a health check.',
    fix: 'Remove health-checks from FILTERS to receive such transactions.',
  },
  'error-message': {
    sentence: 'Its message matches a pattern in FILTER_ERROR_MESSAGES.',
    fix: 'Narrow the patterns if they match too much.',
  },
  'release-version': {
    sentence: 'Its release matches a pattern in FILTER_RELEASES.',
    fix: 'Narrow the patterns if they match too much.',
  },
  storm: {
    sentence: 'More identical errors arrived within a minute than STORM_LIMIT allows. One in 100 was sent.',
    fix: 'Fix the error, or raise STORM_LIMIT. Without enforce in it, all of them pass.',
  },
  unscrubbable: {
    sentence:
      'Its payload cannot be scrubbed: it is not JSON in UTF-8, nested too deeply, larger than 2 MiB, full of secrets, takes longer than 1 s, or, with SCRUB=strict, is of a type that Culvert does not know.',
    fix: 'Send smaller items. SCRUB=off lets them pass, unscrubbed.',
  },
  'attachments-dropped': {
    sentence: 'It is not JSON, and SCRUB names drop-attachments.',
    fix: 'Remove drop-attachments from SCRUB to forward attachments, recordings and profiles unscrubbed.',
  },
}

/** Explanations of the outcomes that have no reason. */
const WITHOUT_REASON: { readonly [outcome in OutcomeTime['outcome']]?: Explanation } = {
  rate_limited: {
    sentence: 'Sentry responded with a rate limit for this category.',
    fix: 'The overview shows when the limit ends. Raise the quota in Sentry, or lower the SDK’s sample rates.',
  },
  declined: {
    sentence: 'Sentry declined it.',
    fix: 'Open one in the live feed to see Sentry’s status: 400 means that Sentry cannot read the envelope, 401 or 403 that the key or the project is not active, 413 that the envelope is too large.',
  },
  aborted: {
    sentence: MEANINGS.aborted,
    fix: 'No action needed for a few: visitors leave pages. If there are many, check whether a proxy in front of Culvert aborts uploads.',
  },
  expired: {
    sentence: MEANINGS.expired,
    fix: 'Check on the overview why Sentry did not accept envelopes for so long. Raise SPOOL_HOURS if outages can last longer.',
  },
  evicted: {
    sentence: MEANINGS.evicted,
    fix: 'Check on the overview why Sentry did not accept envelopes for so long. Raise SPOOL_BYTES if outages can bring more.',
  },
  purged: {
    sentence: 'An operator purged it from the spool. Sentry was notified.',
    fix: 'No action needed: the tunnel’s log shows who purged it and when.',
  },
}

/** Returns the explanation; `undefined` for accepted envelopes and for reasons that only a newer replica knows. */
export function explain(
  outcome: OutcomeTime['outcome'],
  reason: string | undefined,
): Explanation | undefined {
  if (!reason) return WITHOUT_REASON[outcome]
  if (Object.hasOwn(REASONS, reason)) return REASONS[reason as keyof typeof REASONS] // for operators, not for senders
  return Object.hasOwn(REJECTIONS, reason) ? REJECTIONS[reason as RejectionCode] : undefined
}
