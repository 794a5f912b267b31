/** Virtualised list of receipts: only the visible rows are rendered. */
'use client'

import { useVirtualizer } from '@tanstack/react-virtual'
import { type KeyboardEvent, useEffect, useLayoutEffect, useRef, useState } from 'react'
import type { Receipt, SpoolOutcome } from 'tunnel/contract'
import { formatBytes, formatCount, formatDuration, formatTime } from '../../../lib/format.ts'
import { OutcomeLabel } from '../../../ui/outcome-badge.tsx'
import { Empty } from '../../../ui/panel.tsx'
import { StateMark } from '../../../ui/status-badge.tsx'
import { keyOf, type Mark, type Row } from './rows.ts'

const MOST_ABOVE = 1_000 // rows that come between two renders
const ROW_PX = 40

type Props = {
  rows: readonly Row[]
  opened: string | undefined
  onOpen: (receipt: Receipt) => void
  nothing: string
}

/**
 * One row is a stop of the Tab key, and the arrow keys go on from there. Whoever has scrolled, or has the focus in it, keeps their
 * place while others come in above.
 */
export function ReceiptList({ rows, opened, onOpen, nothing }: Props) {
  const scroller = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 10,
  })
  const first = useRef<string>(undefined)
  useLayoutEffect(() => {
    const element = scroller.current
    const above = rows.slice(0, MOST_ABOVE).findIndex((row) => keyOf(row) === first.current)
    const isHeld = element && (element.scrollTop > 0 || element.contains(document.activeElement))
    if (isHeld && above > 0) element.scrollTop += above * ROW_PX
    first.current = rows[0] && keyOf(rows[0])
  }, [rows])

  const [at, goTo] = useState<string>()
  const drawn = virtual.getVirtualItems()
  const drawnReceipts = drawn.flatMap(({ index }) => receiptAt(rows, index) ?? [])
  const stop = (drawnReceipts.find(({ id }) => id === at) ?? drawnReceipts[0])?.id

  const isMoving = useRef(false)
  useEffect(() => {
    if (!isMoving.current || at === undefined) return
    isMoving.current = !focusReceipt(at)
  })

  function onKeyDown(event: KeyboardEvent): void {
    const move = KEYS[event.key]
    if (!move || event.altKey || event.ctrlKey || event.metaKey) return
    event.preventDefault()
    const from = rows.findIndex((row) => 'receipt' in row && row.receipt.id === stop)
    const index = nearest(rows, move(from, rows.length), move(from, rows.length) >= from ? 1 : -1)
    const receipt = receiptAt(rows, index)
    if (!receipt) return
    isMoving.current = true
    goTo(receipt.id)
    virtual.scrollToIndex(index)
    if (opened) onOpen(receipt)
  }

  if (rows.length === 0) return <Empty>{nothing}</Empty>
  const above = Math.round((virtual.scrollOffset ?? 0) / ROW_PX)
  return (
    <div className="relative min-w-0 overflow-hidden rounded-card border border-line bg-surface">
      <p aria-hidden="true" className={`${COLUMNS} border-b border-line py-1 text-note text-quiet`}>
        <span>Time</span>
        <span>Outcome</span>
        <span>Items and reason</span>
        <span className="hidden desk:block">Project</span>
        <span className="hidden text-right wide:block">Size</span>
        <span className="hidden text-right wide:block">Duration</span>
      </p>
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
              <li
                key={row ? keyOf(row) : index}
                className="absolute inset-x-0 border-b border-line"
                style={{ height: ROW_PX, transform: `translateY(${start}px)` }}
              >
                {row && 'receipt' in row && (
                  <ReceiptRow
                    receipt={row.receipt}
                    end={row.end}
                    isOpen={opened === row.receipt.id}
                    isStop={stop === row.receipt.id}
                    onOpen={() => {
                      goTo(row.receipt.id)
                      onOpen(row.receipt)
                    }}
                  />
                )}
                {row && 'mark' in row && <MarkRow mark={row.mark} />}
              </li>
            )
          })}
        </ol>
      </section>
      {above > 0 && (
        <button
          type="button"
          onClick={() => {
            virtual.scrollToOffset(0)
            if (rows[0] && 'receipt' in rows[0]) goTo(rows[0].receipt.id)
          }}
          className="absolute bottom-3 left-1/2 min-h-9 -translate-x-1/2 cursor-pointer rounded-full border border-line bg-surface px-4 text-note font-semibold shadow-md hover:text-accent"
        >
          ↑ {formatCount(above)} newer
        </button>
      )}
    </div>
  )
}

/** Focuses the row of a receipt; returns whether the row exists. */
export function focusReceipt(id: string): boolean {
  const button = document.querySelector<HTMLElement>(`[data-receipt="${CSS.escape(id)}"]`)
  button?.focus({ preventScroll: true })
  return button !== null
}

const PAGE = 15

const KEYS: Record<string, (at: number, many: number) => number> = {
  ArrowDown: (at, many) => Math.min(many - 1, at + 1),
  ArrowUp: (at) => Math.max(0, at - 1),
  PageDown: (at, many) => Math.min(many - 1, at + PAGE),
  PageUp: (at) => Math.max(0, at - PAGE),
  Home: () => 0,
  End: (_, many) => many - 1,
}

/** The row at `index`, or the next one that way that is a receipt. */
function nearest(rows: readonly Row[], index: number, step: 1 | -1): number {
  let at = index
  while (rows[at] && !receiptAt(rows, at)) at += step
  return at
}

function receiptAt(rows: readonly Row[], index: number): Receipt | undefined {
  const row = rows[index]
  return row && 'receipt' in row ? row.receipt : undefined
}

const COLUMNS =
  'grid grid-cols-[4.25rem_6rem_1fr] items-center gap-3 px-3 wide:grid-cols-[4.25rem_6rem_minmax(6rem,1.5fr)_4.5rem_4.5rem] desk:grid-cols-[4.25rem_6rem_minmax(6rem,1.5fr)_minmax(5rem,1fr)_4.5rem_4.5rem]'

type ReceiptRowProps = {
  receipt: Receipt
  end: SpoolOutcome | undefined
  isOpen: boolean
  isStop: boolean
  onOpen: () => void
}

function ReceiptRow({ receipt, end, isOpen, isStop, onOpen }: ReceiptRowProps) {
  const { id, time, outcome, items, project, bytes, duration_ms: took, reason, sdk } = receipt
  return (
    <button
      type="button"
      data-receipt={id}
      tabIndex={isStop ? 0 : -1}
      aria-expanded={isOpen}
      onClick={onOpen}
      className={`${COLUMNS} size-full cursor-pointer text-left text-note -outline-offset-3 hover:bg-sunken aria-expanded:bg-sunken`}
    >
      <span className="text-quiet tabular-nums">{formatTime(time)}</span>
      <OutcomeLabel outcome={end?.final_outcome ?? outcome} />
      <span className="truncate">
        {items.map(({ type, count }) => (count ? `${type} ×${count}` : type)).join(', ') || 'not parsed'}
        {reason && <span className="text-quiet"> · {reason}</span>}
        {end && <span className="text-quiet"> · spooled for {formatDuration(end.waited_ms)}</span>}
      </span>
      <span className="hidden truncate text-quiet desk:block">{project ? formatProject(project) : sdk}</span>
      <span className="hidden text-right tabular-nums wide:block">{formatBytes(bytes)}</span>
      <span className="hidden text-right tabular-nums wide:block">{formatDuration(took)}</span>
    </button>
  )
}

/** Writes the project ID first, since long texts are cut at the end. */
function formatProject(project: string): string {
  const at = project.lastIndexOf('/')
  return `${project.slice(at + 1)} at ${project.slice(0, at)}`
}

function MarkRow({ mark }: { mark: Mark }) {
  return (
    <p className="flex h-full items-center gap-2 overflow-hidden bg-sunken px-3 text-note">
      <span className="text-quiet tabular-nums">{formatTime(mark.time)}</span>
      <StateMark state={mark.kind === 'back' ? 'good' : 'bad'} className="size-3.5" />
      <span className="truncate" title={describeNotice(mark)}>
        {describeNotice(mark)}
      </span>
    </p>
  )
}

function describeNotice(mark: Mark): string {
  switch (mark.kind) {
    case 'missed':
      return `Gap: ${formatCount(mark.missed)} receipts of ${mark.replica} are missing here. The totals include them.`
    case 'ended':
      return `Gap: ${mark.replica} stopped. Its last receipts may be missing here.`
    case 'silent':
      return `${mark.replica} does not respond.`
    case 'back':
      return `${mark.replica} responds again; nothing is missing.`
  }
}
