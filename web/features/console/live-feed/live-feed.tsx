/** Live feed: list of receipts, filter, and details of one receipt. */
'use client'

import type { Receipt } from 'contract/admin-api'
import { useSearchParams } from 'next/navigation'
import { useMemo, useRef, useState } from 'react'
import { formatCount, formatQuantity } from '../../../lib/format.ts'
import { Button } from '../../../ui/button.tsx'
import { Empty, Panel, Tools } from '../../../ui/panel.tsx'
import { LiveIndicator } from '../live-indicator.tsx'
import { SETUP } from '../routes.ts'
import { FeedFilterForm } from './feed-filter-form.tsx'
import { MAX_ROWS, type Row } from './feed-rows.ts'
import { type FeedFilter, matches, OPENED, readFilter, writeView } from './filter.ts'
import { ReceiptDetails } from './receipt-details.tsx'
import { focusReceipt, ReceiptList } from './receipt-list.tsx'
import { TimeFilter } from './time-filter.tsx'
import { useFeed } from './use-feed.ts'

const NO_QUERY = new URLSearchParams()

/** `hasInbox`: a replica stores envelopes in an inbox. */
export function LiveFeed({ hasInbox }: { hasInbox: boolean }) {
  const [isPaused, setPaused] = useState(false)
  const { rows, options, state } = useFeed({ isPaused })
  const query = useSearchParams() ?? NO_QUERY
  const filter = useMemo(() => readFilter(query), [query])
  const isFiltered = Object.keys(filter).length > 0
  const shown = useMemo(
    () => (isFiltered ? rows.filter((row) => 'notice' in row || matches(row, filter)) : rows),
    [rows, filter, isFiltered],
  )
  const openedId = query.get(OPENED) ?? undefined
  const open = (receipt: Receipt) => setView(filter, receipt.id)
  const close = () => {
    setView(filter, undefined)
    if (openedId) focusReceipt(openedId)
  }

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Escape closes the details wherever the focus is
    <div
      className="grid grid-cols-1 gap-3"
      onKeyDown={(event) => event.key === 'Escape' && openedId && close()}
    >
      <Tools>
        <p className="text-quiet tabular-nums">{describeCount(shown, rows)}</p>
        <LiveIndicator state={state} />
        <Button weight="quiet" aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>
          {isPaused ? 'Resume' : 'Pause'}
        </Button>
      </Tools>
      <FeedFilterForm filter={filter} options={options} onChange={setFilter} />
      <TimeFilter filter={filter} rows={rows} onChange={setFilter} />
      <div className={openedId ? WITH_DETAILS : ''}>
        <ReceiptList
          rows={shown}
          opened={openedId}
          onOpen={open}
          emptyText={isFiltered ? 'No envelope matches the filter. Choose “Show all”.' : <NoEnvelopes />}
        />
        {openedId && (
          <OpenedReceipt
            {...{ id: openedId, rows, hasInbox, onOpen: open, onClose: close }}
            isComplete={state === 'open' && rows.length > 0}
          />
        )}
      </div>
    </div>
  )
}

function NoEnvelopes() {
  return (
    <>
      No envelopes yet.{' '}
      <a href={SETUP} className="link">
        Set up your site
      </a>
      , or open the site’s start page: the connection check sends one.
    </>
  )
}

const WITH_DETAILS = 'grid grid-cols-1 gap-4 desk:grid-cols-[minmax(0,4fr)_minmax(0,3fr)] desk:items-start'

type OpenedProps = {
  id: string
  hasInbox: boolean
  rows: readonly Row[]
  /** Set once all recent receipts have arrived. */
  isComplete: boolean
  onOpen: (receipt: Receipt) => void
  onClose: () => void
}

function OpenedReceipt({ id, rows, hasInbox, isComplete, onOpen, onClose }: OpenedProps) {
  const opened = useOpened(id, rows)
  if (opened)
    return (
      <ReceiptDetails
        key={id}
        {...opened}
        hasInbox={hasInbox}
        related={relatedTo(opened.receipt, rows)}
        onOpen={onOpen}
        onClose={onClose}
      />
    )
  if (!isComplete) return null
  return (
    <Panel title="Receipt">
      <Empty>
        Receipt {id} is not among the newest {formatCount(MAX_ROWS)} on this page. A replica keeps its most
        recent 16 MiB of receipts, about 40,000.
      </Empty>
      <p className="mt-3 text-note">
        <Button weight="quiet" onClick={onClose}>
          Close
        </Button>
      </p>
    </Panel>
  )
}

/** Updates the URL without a request to the server. */
function setView(filter: FeedFilter, opened: string | undefined): void {
  history.replaceState(null, '', location.pathname + writeView(filter, opened))
}

function setFilter(filter: FeedFilter): void {
  setView(filter, new URLSearchParams(location.search).get(OPENED) ?? undefined)
}

/** Returns the opened receipt once it has arrived, and keeps it after its row is dropped. */
function useOpened(id: string, rows: readonly Row[]) {
  const kept = useRef<Extract<Row, { receipt: Receipt }>>(undefined)
  const row = rows.find((each) => 'receipt' in each && each.receipt.id === id)
  if (row && 'receipt' in row) kept.current = row
  return kept.current?.receipt.id === id ? kept.current : undefined
}

function describeCount(shown: readonly Row[], rows: readonly Row[]): string {
  const [count, total] = [countReceipts(shown), countReceipts(rows)]
  if (shown !== rows) return `${formatQuantity(count, 'envelope')} of ${formatCount(total)}`
  return rows.length >= MAX_ROWS
    ? `the newest ${formatCount(count)} envelopes`
    : formatQuantity(count, 'envelope')
}

function countReceipts(rows: readonly Row[]): number {
  return rows.reduce((sum, row) => sum + ('receipt' in row ? 1 : 0), 0)
}

const MAX_RELATED = 20

/** Returns other receipts with the same event ID. */
function relatedTo({ id, event_id: eventId }: Receipt, rows: readonly Row[]): Receipt[] {
  if (eventId === undefined) return []
  return rows
    .flatMap((row) =>
      'receipt' in row && row.receipt.event_id === eventId && row.receipt.id !== id ? row.receipt : [],
    )
    .slice(0, MAX_RELATED)
}
