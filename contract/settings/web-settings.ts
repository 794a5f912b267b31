/** Settings of the error reports of browsers: Culvert's own pages, and pages with `sdk.js`. */

import { section, setting } from './declarations.ts'
import * as is from './parsers.ts'

export const REPORTS = "Error reports of Culvert's own pages and of sdk.js"

export const WEB = {
  ...section(REPORTS, ['tunnel', 'web'], {
    SENTRY_ENVIRONMENT: setting(
      // docs.sentry.io/concepts/key-terms/environments
      is.textWhere(
        (name) => /^(?!None$)[^\s/]{1,64}$/.test(name),
        'is not an environment; write up to 64 characters without spaces and slashes, other than None',
      ),
      'production',
      'Environment of the reports of browsers and of the server.',
    ),
    // Unset is not 0: with 0 the browser tells the servers that it calls to drop the trace too, unset leaves the decision to them.
    SENTRY_TRACES_SAMPLE_RATE: setting(is.share, undefined, 'Share of page loads that are traced.', {
      defaultText: 'none: no traces',
    }),
    SENTRY_REPLAYS_ON_ERROR_SAMPLE_RATE: setting(
      is.share,
      0,
      'Share of visits with an error for which a replay is sent. It begins one minute before the error.',
    ),
    REACH_SAMPLE_RATE: setting(
      is.share,
      0,
      'Share of page loads in which the browser [tests whether it reaches Sentry](console.md#reach) itself. Each test connects to Sentry.',
    ),
    SENTRY_FEEDBACK: setting(is.onOff, false, 'Shows visitors a feedback button.'),
    SENTRY_RELEASE: setting(
      // docs.sentry.io/product/releases/naming-releases
      is.textWhere(
        (name) => /^(?!\.{1,2}$)[^\n\t/\\]{1,200}$/.test(name),
        'is not a release; write up to 200 characters without slashes, tabs and line breaks, other than . and ..',
      ),
      undefined,
      'Release of the reports of browsers and of the server.',
    ),
  }),
}
