/** Virtualised list of receipts: only the visible rows are rendered. */
'use client'

import { useVirtualizer } from '@tanstack/react-virtual'
import type { Receipt } from 'contract/admin-api'
import {
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import { formatCount } from '../../../lib/format.ts'
import { Empty } from '../../../ui/panel.tsx'
import { keyOf, type Row } from './feed-rows.ts'
import { COLUMNS, NoticeRow, ReceiptRow } from './receipt-row.tsx'

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
                  <RowContent {...{ row, opened, tabStop, select, onOpen }} />
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

type RowProps = Pick<Props, 'opened' | 'onOpen'> & {
  row: Row
  tabStop: string | undefined
  select: (id: string) => void
}

function RowContent({ row, opened, tabStop, select, onOpen }: RowProps) {
  if ('notice' in row) return <NoticeRow notice={row.notice} />
  const { id } = row.receipt
  const open = () => {
    select(id)
    onOpen(row.receipt)
  }
  return <ReceiptRow {...row} isOpen={opened === id} isTabStop={tabStop === id} onOpen={open} />
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
