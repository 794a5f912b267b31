/** Virtualised list of receipts: only the visible rows are rendered. */
'use client'

import { useVirtualizer } from '@tanstack/react-virtual'
import type { Receipt, SpoolOutcome } from 'contract/admin-api'
import {
  type KeyboardEvent,
  memo,
  type ReactNode,
  type RefObject,
  useCallback,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import { formatBytes, formatCount, formatDuration, formatTime } from '../../../lib/format.ts'
import { Empty } from '../../../ui/panel.tsx'
import { stateLabel } from '../../../ui/states.ts'
import { OutcomeLabel, StateMark } from '../../../ui/status-badge.tsx'
import { typeLabel } from '../outcomes.ts'
import { type FeedNotice, keyOf, type Row } from './feed-rows.ts'

const ROW_PX = 40
const MAX_ADDED = 1_000 // rows between two renders

type Props = {
  rows: readonly Row[]
  /** ID of the opened receipt. */
  opened: string | undefined
  onOpen: (receipt: Receipt) => void
  emptyText: ReactNode
}

/** Keeps the position of a reader who has scrolled or has the focus in the list. */
export function ReceiptList({ rows, opened, onOpen, emptyText }: Props) {
  const scroller = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 10,
  })
  useSteadyPosition(rows, scroller)
  const drawn = virtual.getVirtualItems()
  const { tabStop, select, onKeyDown } = useKeyboard({
    ...{ rows, opened, onOpen },
    drawn: drawn.map(({ index }) => index),
    scrollTo: (index) => virtual.scrollToIndex(index),
  })
  const open = useCallback(
    (receipt: Receipt) => {
      select(receipt.id)
      onOpen(receipt)
    },
    [select, onOpen],
  )
  if (rows.length === 0) return <Empty>{emptyText}</Empty>
  const rowsAbove = Math.round((virtual.scrollOffset ?? 0) / ROW_PX)
  const scrollToTop = () => {
    virtual.scrollToOffset(0)
    if (rows[0] && 'receipt' in rows[0]) select(rows[0].receipt.id)
  }
  return (
    <div className="relative min-w-0 overflow-hidden rounded-card border border-line bg-surface">
      <ListHead />
      <section ref={scroller} aria-label="Envelopes" className="mt-0 h-[68dvh] overflow-y-auto">
        <ol
          aria-label="Envelopes, newest first"
          className="relative"
          style={{ height: virtual.getTotalSize() }}
          onKeyDown={onKeyDown}
        >
          {drawn.map(({ index, start }) => {
            const row = rows[index]
            return (
              row && (
                <li
                  key={keyOf(row)}
                  className="absolute inset-x-0 border-b border-line"
                  style={{ height: ROW_PX, transform: `translateY(${start}px)` }}
                >
                  {'notice' in row ? (
                    <NoticeRow notice={row.notice} />
                  ) : (
                    <ReceiptRow
                      {...row}
                      isOpen={row.receipt.id === opened}
                      isTabStop={row.receipt.id === tabStop}
                      onOpen={open}
                    />
                  )}
                </li>
              )
            )
          })}
        </ol>
      </section>
      {rowsAbove > 0 && (
        <button
          type="button"
          onClick={scrollToTop}
          className="absolute bottom-3 left-1/2 min-h-9 -translate-x-1/2 cursor-pointer rounded-full border border-line bg-surface px-4 text-note font-semibold shadow-md hover:text-accent"
        >
          ↑ {formatCount(rowsAbove)} newer
        </button>
      )}
    </div>
  )
}

function ListHead() {
  return (
    <p aria-hidden="true" className={`${COLUMNS} border-b border-line py-1 text-note text-quiet`}>
      <span>Time</span>
      <span>Outcome</span>
      <span>Items and reason</span>
      <span className="hidden desk:block">Project</span>
      <span className="hidden text-right wide:block">Size</span>
      <span className="hidden text-right wide:block">Duration</span>
    </p>
  )
}

/** Scrolls by the rows that were added above, unless the reader is at the top without focus. */
function useSteadyPosition(rows: readonly Row[], scroller: RefObject<HTMLDivElement | null>): void {
  const first = useRef<string>(undefined)
  useLayoutEffect(() => {
    const element = scroller.current
    const added = rows.slice(0, MAX_ADDED).findIndex((row) => keyOf(row) === first.current)
    const isReading = element && (element.scrollTop > 0 || element.contains(document.activeElement))
    if (isReading && added > 0) element.scrollTop += added * ROW_PX
    first.current = rows[0] && keyOf(rows[0])
  }, [rows, scroller])
}

type KeyboardProps = Pick<Props, 'rows' | 'opened' | 'onOpen'> & {
  /** Indexes of the rendered rows. */
  drawn: number[]
  scrollTo: (index: number) => void
}

/** Makes one row a tab stop, and moves from there by arrow keys. */
function useKeyboard({ rows, opened, onOpen, drawn, scrollTo }: KeyboardProps) {
  const [selected, select] = useState<string>()
  const receipts = drawn.flatMap((index) => receiptAt(rows, index) ?? [])
  const tabStop = (receipts.find(({ id }) => id === selected) ?? receipts[0])?.id

  const isMoving = useRef(false)
  useEffect(() => {
    if (!isMoving.current || selected === undefined) return
    isMoving.current = !focusReceipt(selected)
  })

  function onKeyDown(event: KeyboardEvent): void {
    const move = KEYS[event.key]
    if (!move || event.altKey || event.ctrlKey || event.metaKey) return
    event.preventDefault()
    const from = rows.findIndex((row) => 'receipt' in row && row.receipt.id === tabStop)
    const to = move(from, rows.length)
    const index = nearestReceipt(rows, to, to >= from ? 1 : -1)
    const receipt = receiptAt(rows, index)
    if (!receipt) return
    isMoving.current = true
    select(receipt.id)
    scrollTo(index)
    if (opened) onOpen(receipt)
  }
  return { tabStop, select, onKeyDown }
}

/** Focuses the row of a receipt; returns whether the row exists. */
export function focusReceipt(id: string): boolean {
  const button = document.querySelector<HTMLElement>(`[data-receipt="${CSS.escape(id)}"]`)
  button?.focus({ preventScroll: true })
  return button !== null
}

const PAGE = 15

const KEYS: Record<string, (index: number, count: number) => number> = {
  ArrowDown: (index, count) => Math.min(count - 1, index + 1),
  ArrowUp: (index) => Math.max(0, index - 1),
  PageDown: (index, count) => Math.min(count - 1, index + PAGE),
  PageUp: (index) => Math.max(0, index - PAGE),
  Home: () => 0,
  End: (_, count) => count - 1,
}

/** Returns the index of the row at `from`, or of the next one in this direction, that is a receipt. */
function nearestReceipt(rows: readonly Row[], from: number, step: 1 | -1): number {
  let index = from
  while (rows[index] && !receiptAt(rows, index)) index += step
  return index
}

function receiptAt(rows: readonly Row[], index: number): Receipt | undefined {
  const row = rows[index]
  return row && 'receipt' in row ? row.receipt : undefined
}

const COLUMNS =
  'grid grid-cols-[4.25rem_6.75rem_1fr] items-center gap-3 px-3 wide:grid-cols-[4.25rem_6.75rem_minmax(6rem,1.5fr)_4.5rem_4.5rem] desk:grid-cols-[4.25rem_6.75rem_minmax(6rem,1.5fr)_minmax(5rem,1fr)_4.5rem_4.5rem]'

type ReceiptRowProps = {
  receipt: Receipt
  finalOutcome?: SpoolOutcome
  isOpen: boolean
  isTabStop: boolean
  onOpen: (receipt: Receipt) => void
}

/** Memoised, since rows are added above it several times a second. */
const ReceiptRow = memo(function ReceiptRow(props: ReceiptRowProps) {
  const { receipt, finalOutcome, isOpen, isTabStop, onOpen } = props
  const { id, time, outcome, items, project, bytes, duration_ms: durationMs, reason } = receipt
  const shown = finalOutcome?.final_outcome ?? outcome
  return (
    <button
      type="button"
      data-receipt={id}
      tabIndex={isTabStop ? 0 : -1}
      aria-expanded={isOpen}
      onClick={() => onOpen(receipt)}
      className={`${COLUMNS} size-full cursor-pointer text-left text-note -outline-offset-3 hover:bg-sunken aria-expanded:bg-sunken`}
    >
      <span className="text-quiet tabular-nums">{formatTime(time)}</span>
      <OutcomeLabel outcome={shown} label={stateLabel(shown)} />
      <span className="truncate">
        {items
          .map(({ type, count }) => (count ? `${typeLabel(type)} ×${count}` : typeLabel(type)))
          .join(', ') || 'not parsed'}
        {reason && <span className="text-quiet"> · {reason}</span>}
        {finalOutcome && (
          <span className="text-quiet"> · spooled for {formatDuration(finalOutcome.waited_ms)}</span>
        )}
      </span>
      <span className="hidden truncate text-quiet desk:block">{project ? formatProject(project) : '–'}</span>
      <span className="hidden text-right tabular-nums wide:block">{formatBytes(bytes)}</span>
      <span className="hidden text-right tabular-nums wide:block">{formatDuration(durationMs)}</span>
    </button>
  )
})

/** Writes the project ID first, since long texts are cut at the end. */
function formatProject(project: string): string {
  const slash = project.lastIndexOf('/')
  return `${project.slice(slash + 1)} at ${project.slice(0, slash)}`
}

function NoticeRow({ notice }: { notice: FeedNotice }) {
  const text = describeNotice(notice)
  return (
    <p className="flex h-full items-center gap-2 overflow-hidden bg-sunken px-3 text-note">
      <span className="text-quiet tabular-nums">{formatTime(notice.time)}</span>
      <StateMark state={notice.kind === 'recovered' ? 'good' : 'bad'} className="size-3.5" />
      <span className="truncate" title={text}>
        {text}
      </span>
    </p>
  )
}

function describeNotice(notice: FeedNotice): string {
  const { kind, replica } = notice
  switch (kind) {
    case 'missed':
      return `Gap: ${formatCount(notice.missed)} receipts of ${replica} are missing here. The totals include them.`
    case 'stopped':
      return `Gap: ${replica} stopped. Its last receipts may be missing here.`
    case 'unresponsive':
      return `${replica} does not respond.`
    case 'recovered':
      return `${replica} responds again; nothing is missing.`
  }
}
