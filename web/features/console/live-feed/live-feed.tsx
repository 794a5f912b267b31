/** Live feed: list of receipts, filter, and details of one receipt. */
'use client'

import { useSearchParams } from 'next/navigation'
import { useEffect, useMemo, useRef, useState } from 'react'
import type { Receipt, SpoolOutcome } from 'tunnel/contract'
import { formatCount, formatQuantity } from '../../../lib/format.ts'
import { Button } from '../../../ui/button.tsx'
import { Empty, Panel, Tools } from '../../../ui/panel.tsx'
import { LiveIndicator } from '../live-indicator.tsx'
import { type FeedFilter, OPENED, passes, readFilter, writeView } from './filter.ts'
import { FeedFilterForm } from './filter-form.tsx'
import { ReceiptDetails } from './receipt-details.tsx'
import { focusReceipt, ReceiptList } from './receipt-list.tsx'
import { MOST_ROWS, type Row } from './rows.ts'
import { useFeed } from './use-feed.ts'

const NO_QUERY = new URLSearchParams()

export function LiveFeed() {
  const [isPaused, setPaused] = useState(false)
  const { rows, choices, state } = useFeed({ isPaused })
  const query = useSearchParams() ?? NO_QUERY
  const filter = useMemo(() => readFilter(query), [query])
  const isFiltered = Object.keys(filter).length > 0
  const shown = useMemo(
    () => (isFiltered ? rows.filter((row) => 'mark' in row || passes(row.receipt, row.end, filter)) : rows),
    [rows, filter, isFiltered],
  )
  const openedId = query.get(OPENED) ?? undefined
  const opened = useOpened(openedId, rows)
  const isWide = useRef(true)
  useEffect(() => {
    isWide.current = matchMedia('(min-width: 64rem)').matches
  })

  const open = (receipt: Receipt) => goTo(filter, receipt.id)
  const close = () => {
    goTo(filter, undefined)
    if (openedId) focusReceipt(openedId)
  }

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Escape closes from wherever the focus is
    <div
      className="grid grid-cols-1 gap-3"
      onKeyDown={(event) => event.key === 'Escape' && openedId && close()}
    >
      <Tools>
        <p className="text-quiet tabular-nums">{describeCount(shown, rows, isFiltered)}</p>
        <LiveIndicator state={state} />
        <Button weight="quiet" aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>
          {isPaused ? 'Resume' : 'Pause'}
        </Button>
      </Tools>
      <FeedFilterForm filter={filter} choices={choices} onChange={setFilter} />
      <div
        className={
          openedId
            ? 'grid grid-cols-1 gap-4 desk:grid-cols-[minmax(0,3fr)_minmax(0,2fr)] desk:items-start'
            : ''
        }
      >
        <ReceiptList
          rows={shown}
          opened={openedId}
          onOpen={open}
          nothing={
            isFiltered
              ? 'No envelope matches the filter.'
              : 'No envelopes yet. Open the site’s start page: the connection check sends one.'
          }
        />
        {opened && (
          <ReceiptDetails
            key={opened.id}
            receipt={opened}
            end={endOf(opened, rows)}
            siblings={siblingsOf(opened, rows)}
            takesFocus={!isWide.current}
            onOpen={open}
            onClose={close}
          />
        )}
        {openedId && !opened && state === 'open' && rows.length > 0 && (
          <Panel title="Receipt">
            <Empty>
              Receipt {openedId} is not among the newest {formatCount(MOST_ROWS)} on this page. A replica
              keeps its most recent 16 MiB of receipts, about 40,000.
            </Empty>
            <p className="mt-3 text-note">
              <Button weight="quiet" onClick={close}>
                Close
              </Button>
            </p>
          </Panel>
        )}
      </div>
    </div>
  )
}

/** Updates the URL without a request to the server. */
function goTo(filter: FeedFilter, opened: string | undefined): void {
  history.replaceState(null, '', location.pathname + writeView(filter, opened))
}

function setFilter(filter: FeedFilter): void {
  goTo(filter, new URLSearchParams(location.search).get(OPENED) ?? undefined)
}

/** Returns the opened receipt once it has arrived, and keeps it after its row is dropped. */
function useOpened(id: string | undefined, rows: readonly Row[]): Receipt | undefined {
  const kept = useRef<Receipt>(undefined)
  if (id === undefined) return undefined
  const row = rows.find((each) => 'receipt' in each && each.receipt.id === id)
  if (row && 'receipt' in row) kept.current = row.receipt
  return kept.current?.id === id ? kept.current : undefined
}

function describeCount(shown: readonly Row[], rows: readonly Row[], isFiltered: boolean): string {
  const many = countReceipts(shown)
  const all = countReceipts(rows)
  if (isFiltered) return `${formatQuantity(many, 'envelope')} of ${formatCount(all)}`
  return rows.length >= MOST_ROWS
    ? `the newest ${formatCount(many)} envelopes`
    : formatQuantity(many, 'envelope')
}

function countReceipts(rows: readonly Row[]): number {
  return rows.reduce((sum, row) => sum + ('receipt' in row ? 1 : 0), 0)
}

function endOf({ id }: Receipt, rows: readonly Row[]): SpoolOutcome | undefined {
  const row = rows.find((each) => 'receipt' in each && each.receipt.id === id)
  return row && 'end' in row ? row.end : undefined
}

const MOST_SIBLINGS = 20

function siblingsOf({ id, event_id: eventId }: Receipt, rows: readonly Row[]): Receipt[] {
  if (eventId === undefined) return []
  return rows
    .flatMap((row) =>
      'receipt' in row && row.receipt.event_id === eventId && row.receipt.id !== id ? row.receipt : [],
    )
    .slice(0, MOST_SIBLINGS)
}
