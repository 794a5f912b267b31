/** Use of each quota as a bar. */

import type { PolicyMode, PolicyStatus, QuotaStatus } from 'contract/policies'
import { formatCount, formatPercent } from '../../../lib/format.ts'
import { Empty, Panel, Showing } from '../../../ui/panel.tsx'
import { When } from '../../../ui/relative-time.tsx'
import { quotaName } from './policies.ts'

const MAX_SHOWN = 50
const LOW_SHARE = 0.8 // from here on, the bar warns

const EXCEEDED = 'With enforce, items of this category would be removed.'

export function QuotaBars({ quota }: { quota: PolicyStatus['quota'] }) {
  const quotas = quota?.quotas ?? []
  const shown = quotas.slice(0, MAX_SHOWN)
  return (
    <Panel title="Quotas" note="days and hours are those of UTC">
      {quota && quotas.length > 0 ? (
        <>
          <ul className="grid grid-cols-1 gap-4">
            {shown.map((each) => (
              <QuotaBar
                key={`${each.project} ${each.category} ${each.period}`}
                quota={each}
                mode={quota.mode}
              />
            ))}
          </ul>
          <Showing shown={shown} total={quotas.length} of="quotas" />
        </>
      ) : (
        <Empty>
          No quota is set. <code>QUOTA</code> bounds what is forwarded by data category, like{' '}
          <code className="wrap-anywhere">error=50000/day,transaction=10000/hour</code>.
        </Empty>
      )}
    </Panel>
  )
}

function QuotaBar({ quota, mode }: { quota: QuotaStatus; mode: PolicyMode }) {
  const { project, used, limit, resets } = quota
  const share = used / limit
  return (
    <li className="min-w-0 text-note tabular-nums">
      <div className="flex flex-wrap items-baseline justify-between gap-x-4">
        <h3 className="min-w-0 font-semibold wrap-anywhere">
          {quotaName(quota)} <span className="font-normal text-quiet">{project}</span>
        </h3>
        <p>
          {formatCount(used)} of {formatCount(limit)} ({formatPercent(share)})
        </p>
      </div>
      <Bar share={share} />
      <p className="mt-1 text-quiet">
        {share >= 1 && <strong className="text-ink">{mode === 'enforce' ? 'Used up.' : EXCEEDED} </strong>}
        It begins anew at <When time={resets} />.
      </p>
    </li>
  )
}

/** Bar of a width that a policy for inline styles does not forbid. The text beside it says the same. */
function Bar({ share }: { share: number }) {
  const colour = share < LOW_SHARE ? 'fill-good' : share < 1 ? 'fill-wait' : 'fill-bad'
  return (
    <svg
      viewBox="0 0 100 1"
      preserveAspectRatio="none"
      aria-hidden="true"
      className="mt-1 block h-2 w-full rounded-full bg-sunken"
    >
      <rect width={Math.min(100, share * 100)} height="1" className={colour} />
    </svg>
  )
}
