/** Envelopes by result in a time range: each is counted once, by its last outcome. */

import type { ReactNode } from 'react'
import { formatCount, formatPercent, formatQuantity } from '../../../lib/format.ts'
import { Fold } from '../../../ui/panel.tsx'
import type { OutcomeName } from '../../../ui/states.ts'
import { OutcomeLabel } from '../../../ui/status-badge.tsx'
import { Table } from '../../../ui/table.tsx'
import type { RangeFigures } from '../figures/figure-sums.ts'
import { MEANINGS } from '../outcomes.ts'
import { linkTo } from './losses-link.ts'
import { countResults, type ResultName } from './results.ts'

const COLUMNS = [
  { name: 'Result' },
  { name: 'Envelopes', className: 'text-right' },
  { name: 'Share', className: 'w-20 text-right text-quiet' },
]

/** `outcome` sets mark and colour. */
type Row = { outcome: OutcomeName; label: string; href: string; meaning?: string }

const FEED = '/console/live-feed?outcome='

const ROWS: Record<ResultName, Row> = {
  direct: { outcome: 'delivered', label: 'delivered directly', href: `${FEED}delivered` },
  later: {
    ...{ outcome: 'delivered', label: 'delivered after spooling', href: `${FEED}delivered` },
    meaning: 'Stored in the spool first, and accepted by Sentry later.',
  },
  pending: { outcome: 'spooled', label: 'pending', href: '/console/spool' },
  deferred: { outcome: 'deferred', label: 'deferred', href: `${FEED}deferred` },
  rejected: {
    ...{ outcome: 'rejected', label: 'rejected', href: '/console/rejections' },
    meaning: 'Rejected by Culvert: the request was wrong.',
  },
  filtered: { outcome: 'filtered', label: 'filtered', href: `${FEED}filtered` },
  rate_limited: { outcome: 'rate_limited', label: 'rate-limited', href: `${FEED}rate_limited` },
  declined: { outcome: 'declined', label: 'declined', href: `${FEED}declined` },
  aborted: { outcome: 'aborted', label: 'aborted', href: `${FEED}aborted` },
  purged: { outcome: 'purged', label: 'purged', href: `${FEED}purged` },
  lost: { outcome: 'lost', label: 'lost', href: '/console/rejections' },
  unknown: {
    ...{ outcome: 'aborted', label: 'outcome unknown', href: '/console/replicas' },
    meaning: 'It was pending, and a replica was killed before it stored its final outcome.',
  },
}

type Props = { figures: RangeFigures; note: string }

export function OutcomesTable({ figures, note }: Props) {
  const { results, received, resent, losses, pendingBefore } = countResults(figures)
  const total = received + resent + pendingBefore
  const rows = results.map(({ name, count }) => {
    const { outcome, label, meaning = MEANINGS[outcome], ...row } = ROWS[name]
    const href = name === 'lost' ? linkTo(losses) : row.href
    const cells: ReactNode[] = [
      <a key={name} href={href} className="inline-flex min-h-6 items-center no-underline hover:underline">
        <OutcomeLabel outcome={outcome} label={label} count={count} />
      </a>,
      formatCount(count),
      count > 0 && formatPercent(count / total),
    ]
    return { key: name, title: meaning, cells }
  })
  const isSomeUnknown = results.some(({ name }) => name === 'unknown')
  return (
    <Fold title="Results" note={note}>
      <Table
        hideHead
        label="Envelopes by result"
        columns={COLUMNS}
        rows={rows}
        total={['all envelopes', formatCount(total), '']}
      />
      {pendingBefore > 0 && (
        <p className="mt-2 text-note text-quiet">
          {formatCount(received)} received, and {formatQuantity(pendingBefore, 'envelope')} that{' '}
          {pendingBefore === 1 ? 'was' : 'were'} already pending at the beginning.
        </p>
      )}
      {resent > 0 && (
        <p className="mt-2 text-note text-quiet">
          {formatQuantity(resent, 'envelope')} of these {resent === 1 ? 'was' : 'were'} sent again by an
          operator.
        </p>
      )}
      {isSomeUnknown && <p className="mt-2 text-note text-quiet">Outcome unknown: {ROWS.unknown.meaning}</p>}
    </Fold>
  )
}
