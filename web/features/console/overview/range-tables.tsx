/** Tables of a time range: envelopes by result, and items by type. */

import type { ReactNode } from 'react'
import { formatCount, formatNumber, formatPercent, formatQuantity, rateUnit } from '../../../lib/format.ts'
import { Empty, Fold } from '../../../ui/panel.tsx'
import { Sparkline } from '../../../ui/sparkline.tsx'
import type { OutcomeName } from '../../../ui/states.ts'
import { OutcomeLabel } from '../../../ui/status-badge.tsx'
import { Table } from '../../../ui/table.tsx'
import { type RangeFigures, type RecentCounts, spansOf, sumByName } from '../figures/figure-sums.ts'
import type { Range } from '../figures/range.ts'
import { MEANINGS, typeLabel } from '../outcomes.ts'
import { SETUP } from '../routes.ts'
import { countResults, linkTo, type ResultName } from './results.ts'

const RESULT_COLUMNS = [
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

type OutcomesProps = { figures: RangeFigures; note: string }

/** Envelopes by result. Each is counted once, by its last outcome. */
export function OutcomesTable({ figures, note }: OutcomesProps) {
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
        columns={RESULT_COLUMNS}
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

const TYPE_COLUMNS = [
  { name: 'Type' },
  { name: <span className="sr-only">over time</span>, className: 'w-1/2' },
  { name: 'Now', className: 'text-right whitespace-nowrap text-quiet' },
  { name: 'Total', className: 'text-right' },
]

type ItemTypesProps = {
  figures: RangeFigures
  /** Counts of the last one to two minutes; absent while they are missing. */
  now: RecentCounts | undefined
  range: Range
}

/** Item types, most frequent first, with their rates. */
export function ItemTypes({ figures, now, range }: ItemTypesProps) {
  const spans = spansOf(figures)
  const items = new Map(figures.points.map((point) => [point.time, sumByName(point.items)]))
  const recent = now && sumByName(now.counts.items)
  const types = [...new Set([...items.values()].flatMap(Object.keys))]
    .map((type) => {
      const values = spans.map(({ time, point }) => point && (items.get(time)?.[type] ?? 0))
      const count = values.reduce<number>((sum, value = 0) => sum + value, 0)
      return { type, count, values, rate: now && (recent?.[type] ?? 0) / now.seconds }
    })
    .sort((a, b) => b.count - a.count)
  const { per, seconds } = rateUnit(Math.max(0, ...types.map(({ rate = 0 }) => rate)))
  const rows = types.map(({ type, count, rate, values }) => ({
    key: type,
    cells: [
      <a
        key="type"
        href={`/console/live-feed?type=${type}`}
        className="inline-flex min-h-6 items-center text-ink no-underline hover:underline"
      >
        {typeLabel(type)}
      </a>,
      <Sparkline key="counts" values={values} />,
      rate === undefined ? '–' : formatNumber(rate * seconds) + per,
      formatCount(count),
    ],
  }))
  return (
    <Fold title="Items by type" note={`last ${range.words}`}>
      {rows.length === 0 ? (
        <Empty>
          No items in the last {range.words}. To see some,{' '}
          <a href={SETUP} className="link">
            send an error from your site
          </a>
          .
        </Empty>
      ) : (
        <Table label="Items by type" columns={TYPE_COLUMNS} rows={rows} />
      )}
    </Fold>
  )
}
