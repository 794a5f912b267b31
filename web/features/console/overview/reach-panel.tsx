/** Visitors whose browsers do not reach Sentry, and the errors that would have been lost. */

import type { Deployment } from 'contract/situation/deployments'
import { formatCount, formatQuantity } from '../../../lib/format.ts'
import { Empty, Fold } from '../../../ui/panel.tsx'
import { SettingLine } from '../setting-line.tsx'
import { isUncertain, type Reach } from './results.ts'

export function ReachPanel({ reach }: { reach: Reach }) {
  const { tests, inconclusive, blocked, lostErrors } = reach
  return (
    <Fold title="Reach" note="last 7 days">
      {blocked ? (
        <>
          <p>
            <strong className="text-title">{toPercent(blocked.share)} of visitors block Sentry.</strong>
          </p>
          <p className="mt-1">
            About {formatQuantity(lostErrors, 'error')} from browsers would have been lost without Culvert in
            the last 7 days.
          </p>
          <p className="mt-2 text-note text-quiet">
            {isUncertain(reach) && 'The sample is small: '}
            between {toPercent(blocked.from)} and {toPercent(blocked.to)} with 95 % confidence, from{' '}
            {formatQuantity(tests, 'page load')}.
          </p>
        </>
      ) : (
        <Empty>
          No result yet. Open your site: the browser tests whether it reaches Sentry in a share of page loads
          (<code>REACH_SAMPLE_RATE</code>), and the result appears here about a minute later.
        </Empty>
      )}
      {inconclusive > 0 && (
        <p className="mt-2 text-note text-quiet">
          {formatCount(inconclusive)} more had no result: the policy of the page or a slow network stopped the
          test, or Culvert itself had no response from Sentry at that time.
        </p>
      )}
    </Fold>
  )
}

/** Shown while the test is off: its purpose, and how to turn it on. */
export function ReachOff({ deployment }: { deployment: Deployment | undefined }) {
  return (
    <Fold title="Reach">
      <Empty>
        The reach test is off. It shows how many visitors block Sentry, from a sample of page loads.
      </Empty>
      <div className="mt-3">
        <SettingLine
          line="REACH_SAMPLE_RATE=0.01"
          deployment={deployment}
          aim="To test one page load in a hundred"
        />
      </div>
    </Fold>
  )
}

function toPercent(share: number): string {
  return `${Math.round(share * 100)} %`
}
