/** Live feed: list of receipts, filter, and details of one receipt. */
'use client'

import type { Receipt } from 'contract/admin-api'
import { useSearchParams } from 'next/navigation'
import { type ChangeEvent, memo, useCallback, useMemo, useRef, useState } from 'react'
import { useNow } from '../../../lib/browser-state.ts'
import { formatCount, formatDateTime, formatQuantity } from '../../../lib/format.ts'
import { Button } from '../../../ui/button.tsx'
import { Choice } from '../../../ui/choice.tsx'
import { Empty, Panel, Tools } from '../../../ui/panel.tsx'
import { stateLabel } from '../../../ui/states.ts'
import { LiveIndicator, type StreamState, useEventStream } from '../live-data.tsx'
import { FINAL_OUTCOMES, OUTCOMES, typeLabel } from '../outcomes.ts'
import { SETUP } from '../routes.ts'
import { type FeedEvent, FeedRows, MAX_ROWS, type Row } from './feed-rows.ts'
import {
  type FeedFilter,
  type FilterName,
  type FilterOptions,
  matches,
  OPENED,
  readFilter,
  timeOf,
  writeView,
} from './filter.ts'
import { ReceiptDetails } from './receipt-details.tsx'
import { focusReceipt, ReceiptList } from './receipt-list.tsx'

const NO_QUERY = new URLSearchParams()

/** `hasInbox`: a replica stores envelopes in an inbox. `isAnswered`: a replica has responded. */
export function LiveFeed({ hasInbox, isAnswered }: { hasInbox: boolean; isAnswered: boolean }) {
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
  const open = useCallback((receipt: Receipt) => setView(filter, receipt.id), [filter])
  const close = () => {
    setView(filter, undefined)
    if (openedId) focusReceipt(openedId)
  }

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Escape closes the details wherever the focus is
    <div
      className="grid grid-cols-1 gap-3 noscript:hidden"
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
          emptyText={
            rows.length > 0 ? (
              'No envelope matches the filter. Choose “Show all”.'
            ) : (
              <NoEnvelopes {...{ state, isAnswered }} />
            )
          }
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

function NoEnvelopes({ state, isAnswered }: { state: StreamState; isAnswered: boolean }) {
  if (!isAnswered) return 'No tunnel responds, so it is not known which envelopes arrived.'
  if (state === 'opening') return 'Loading the newest envelopes of all replicas …'
  if (state !== 'open') return 'Nothing was loaded before the feed stopped.'
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

const RENDER_MS = 250 // between two renders

type FeedState = { rows: readonly Row[]; options: FilterOptions; state: StreamState }

/** While paused, nothing is read. After the pause, the entries missed meanwhile follow. */
function useFeed(settings: { isPaused: boolean }): FeedState {
  const [rows] = useState(() => new FeedRows())
  const [, setRendered] = useState(0)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const rendered = useRef(0)
  const render = () => {
    timer.current = undefined
    rendered.current = performance.now()
    setRendered((times) => times + 1)
  }
  const state = useEventStream<FeedEvent>(
    '/console/receipts',
    (event) => {
      rows.add(event)
      timer.current ??= setTimeout(render, rendered.current + RENDER_MS - performance.now())
    },
    settings,
  )
  return { rows: rows.all(), options: rows.filterOptions(), state }
}

/** Returns the label of a filter's value. */
function labelIn(name: string, value: string): string {
  if (name === 'outcome') return stateLabel(value)
  return name === 'type' ? typeLabel(value) : value
}

type FormProps = { filter: FeedFilter; options: FilterOptions; onChange: (filter: FeedFilter) => void }

const OUTCOME_NAMES = [...new Set<string>([...OUTCOMES, ...FINAL_OUTCOMES])]

const FeedFilterForm = memo(function FeedFilterForm({ filter, options, onChange }: FormProps) {
  const [isShown, setShown] = useState(false)
  const onSet = (name: FilterName, value: string) => onChange({ ...filter, [name]: value })
  const { from: _, to: __, ...named } = filter
  const set = Object.entries(named).map(([name, value]) => labelIn(name, value))
  const controlled = (name: FilterName) => ({
    chosen: filter[name],
    onChange: ({ target }: ChangeEvent<HTMLSelectElement>) => onSet(name, target.value),
  })
  return (
    <form
      className="grid grid-cols-2 items-end gap-x-3 gap-y-2 text-note wide:grid-cols-6"
      aria-label="Filter"
      onSubmit={(event) => event.preventDefault()}
      onReset={() => onChange({})}
    >
      <span className="col-span-2 flex gap-3 wide:hidden">
        <Button weight="quiet" aria-expanded={isShown} onClick={() => setShown(!isShown)}>
          {set.length > 0 ? `Filter: ${set.join(', ')}` : 'Filter'}
        </Button>
      </span>
      <div className={`${isShown ? 'contents' : 'hidden'} wide:contents`}>
        <Choice label="Outcome" values={OUTCOME_NAMES} labelOf={stateLabel} {...controlled('outcome')} />
        <Choice label="Reason" values={options.reason} {...controlled('reason')} />
        <Choice label="Project" values={options.project} {...controlled('project')} />
        <Choice label="Item" values={options.type} labelOf={typeLabel} {...controlled('type')} />
        <Choice label="SDK" values={options.sdk} {...controlled('sdk')} />
        <label className="grid grid-cols-1 gap-1 text-quiet">
          Text
          <input
            type="search"
            defaultValue={filter.text ?? ''}
            onChange={(event) => onSet('text', event.target.value)}
            placeholder="ID, event ID, replica"
            className="field"
          />
        </label>
        {set.length > 0 && (
          <span className="col-span-2 wide:col-span-6">
            <button type="reset" className="link min-h-8 cursor-pointer">
              Show all
            </button>
          </span>
        )}
      </div>
    </form>
  )
})

type TimeProps = { filter: FeedFilter; rows: readonly Row[]; onChange: (filter: FeedFilter) => void }

/** Shows the span of time, and whether the feed begins after its start. Renders nothing without a time filter. */
function TimeFilter({ filter, rows, onChange }: TimeProps) {
  const isInBrowser = useNow() !== undefined // the server does not know the reader's time zone
  const { from, to, ...others } = filter
  const [start, end] = [timeOf(from), timeOf(to)]
  if (!isInBrowser || (start === undefined && end === undefined)) return null
  const oldest = oldestOf(rows)
  return (
    <p className="flex flex-wrap items-baseline gap-x-3 text-note">
      <span>
        Received
        {start !== undefined && <> from {formatDateTime(start)}</>}
        {end !== undefined && <> to {formatDateTime(end)}</>}.
      </span>
      <button type="button" className="link min-h-8 cursor-pointer" onClick={() => onChange(others)}>
        Show all times
      </button>
      {start !== undefined && oldest !== undefined && start < oldest && (
        <span className="basis-full text-quiet">
          The feed holds recent envelopes only, the first of {formatDateTime(oldest)}. Earlier ones are not
          listed.
        </span>
      )}
    </p>
  )
}

function oldestOf(rows: readonly Row[]): number | undefined {
  const row = rows.findLast((each) => 'receipt' in each)
  return row && 'receipt' in row ? row.receipt.time : undefined
}
