/** Counts of envelopes by outcome and of spooled envelopes by final outcome since the replicas started. */

import { formatCount, formatPercent } from '../../../lib/format.ts'
import { OutcomeLabel } from '../../../ui/outcome-badge.tsx'
import { Panel } from '../../../ui/panel.tsx'
import { Table } from '../../../ui/table.tsx'
import type { OverviewSnapshot } from '../monitor/snapshot.ts'
import { FINAL_OUTCOMES, MEANINGS, OUTCOMES } from '../outcomes.ts'

const COLUMNS = [
  { name: 'Outcome' },
  { name: 'Envelopes', className: 'text-right' },
  { name: 'Share', className: 'w-20 text-right text-quiet' },
]

export function OutcomesTable({ overview: { point, spools } }: { overview: OverviewSnapshot }) {
  const { outcomes, finalOutcomes } = point
  const total = Object.values(outcomes).reduce((sum, count) => sum + count, 0)
  const rows = OUTCOMES.map((outcome) => {
    const count = outcomes[outcome] ?? 0
    const link = (
      <a
        key={outcome}
        href={`/console/live-feed?outcome=${outcome}`}
        className="no-underline hover:underline"
      >
        <OutcomeLabel outcome={outcome} />
      </a>
    )
    const share = count > 0 && formatPercent(count / total)
    return { key: outcome, title: MEANINGS[outcome], cells: [link, formatCount(count), share] }
  })
  const finalRows = FINAL_OUTCOMES.map((outcome) => ({
    ...{ key: outcome, title: MEANINGS[outcome] },
    cells: [<OutcomeLabel key={outcome} outcome={outcome} />, formatCount(finalOutcomes[outcome] ?? 0), ''],
  }))
  return (
    <Panel title="Outcomes" note="since the replicas started">
      <Table
        hideHead
        label="Envelopes by outcome"
        columns={COLUMNS}
        rows={rows}
        total={['all envelopes', formatCount(total), '']}
      />
      {(spools.length > 0 || Object.keys(finalOutcomes).length > 0) && (
        <>
          <h3 className="mt-5 mb-1 text-note font-semibold">Spooled envelopes: final outcome</h3>
          <Table hideHead label="Spooled envelopes by final outcome" columns={COLUMNS} rows={finalRows} />
        </>
      )}
    </Panel>
  )
}
