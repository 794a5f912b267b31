/** Rules with their hits in the last hour. */

import type { PolicyName, PolicyStatus, RuleStatus } from 'contract/policies'
import { formatCount } from '../../../lib/format.ts'
import { Empty, Panel, Showing } from '../../../ui/panel.tsx'
import { Ago } from '../../../ui/relative-time.tsx'
import { Table } from '../../../ui/table.tsx'
import { cutText, TEXT } from '../bounds.ts'

const MAX_SHOWN = 100

const COLUMNS = [
  { name: 'Rule', className: 'align-top wrap-anywhere' },
  { name: 'Policy', className: 'align-top' },
  { name: 'Last hour', className: 'text-right align-top' },
  { name: 'Last hit', className: 'text-right align-top' },
]

const POLICY_NAMES: Record<PolicyName, string> = { scrub: 'Scrubbing', storm: 'Storms', quota: 'Quotas' }

export function RuleTable({ rules, scrub }: Pick<PolicyStatus, 'rules' | 'scrub'>) {
  const shown = rules.slice(0, MAX_SHOWN)
  return (
    <Panel title="Rules" note="values and items that were removed, or would have been">
      {rules.length === 0 ? (
        <Empty>
          {scrub ? (
            'No rule has found anything since the tunnels started: there is nothing to do.'
          ) : (
            <>
              Rules appear here when <code>SCRUB</code> or a quota is set, or when a storm begins.
            </>
          )}
        </Empty>
      ) : (
        <Table label="Rules with their hits in the last hour" columns={COLUMNS} rows={shown.map(rowOf)} />
      )}
      <Showing shown={shown} total={rules.length} of="rules" />
    </Panel>
  )
}

function rowOf({ policy, rule, last_hour: hits, last }: RuleStatus) {
  return {
    key: `${policy} ${rule}`,
    cells: [
      <code key="rule">{cutText(rule, TEXT.name)}</code>,
      POLICY_NAMES[policy],
      formatCount(hits),
      <span key="last" className="text-quiet">
        {last === undefined ? 'none yet' : <Ago time={last} />}
      </span>,
    ],
  }
}
