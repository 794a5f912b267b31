/** The feed: a list of receipts that stays smooth however many there are, its filter, and one receipt in full. */
'use client'

import { useVirtualizer } from '@tanstack/react-virtual'
import { useSearchParams } from 'next/navigation'
import { memo, useDeferredValue, useLayoutEffect, useMemo, useRef, useState } from 'react'
import type { Receipt, SpoolEnd } from 'tunnel/contract'
import { ANSWERS, ENDS } from '../../lib/console/fates.ts'
import type { Mark } from '../../lib/console/feed.ts'
import {
  type FeedFilter,
  type FilterName,
  passes,
  readFilter,
  writeFilter,
} from '../../lib/console/feed-filter.ts'
import { type Row, useFeed } from '../../lib/console/use-feed.ts'
import { sayBytes, sayClock, sayCount, sayDuration } from '../../lib/console/words.ts'
import { Button } from '../button.tsx'
import { FateBadge } from '../fate.tsx'
import { StateMark } from '../state.tsx'
import { LiveMark } from './live-mark.tsx'
import { Empty } from './panel.tsx'
import { ReceiptDetails } from './receipt-details.tsx'

const FEED = '/console/feed'
const MOST_ABOVE = 1_000 // rows that come between two renders
const ROW_PX = 44

export function Feed() {
  const [isPaused, setPaused] = useState(false)
  const { rows, state } = useFeed({ isPaused })
  const query = useSearchParams()
  const filter = useMemo(() => readFilter(query ?? new URLSearchParams()), [query])
  const shown = useMemo(
    () => rows.filter((row) => 'mark' in row || passes(row.receipt, row.end, filter)),
    [rows, filter],
  )
  const [opened, open] = useState<Receipt>()
  const many = shown.filter((row) => 'receipt' in row).length
  const known = useDeferredValue(rows) // what can be chosen may lag behind; the list may not

  return (
    <div className="grid grid-cols-1 gap-3">
      <div className="flex flex-wrap items-center gap-3 text-note">
        <LiveMark state={state} />
        <Button weight="quiet" aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>
          {isPaused ? 'Go on' : 'Pause'}
        </Button>
        <p className="text-note text-quiet tabular-nums" aria-live="off">
          {sayCount(many)} {many === 1 ? 'envelope' : 'envelopes'}
          {many < rows.length && Object.keys(filter).length > 0 && ` of ${sayCount(rows.length)}`}
        </p>
      </div>
      <Filter filter={filter} rows={known} />
      <div className={opened ? 'grid grid-cols-1 gap-4 desk:grid-cols-[3fr_2fr] desk:items-start' : ''}>
        <List rows={shown} opened={opened} onOpen={open} isFiltered={Object.keys(filter).length > 0} />
        {opened && (
          <ReceiptDetails
            key={opened.id}
            receipt={opened}
            end={endOf(opened, rows)}
            siblings={siblingsOf(opened, rows)}
            onOpen={open}
            onClose={() => open(undefined)}
          />
        )}
      </div>
    </div>
  )
}

/** The server need not know. */
function goTo(filter: FeedFilter): void {
  history.replaceState(null, '', FEED + writeFilter(filter))
}

function endOf({ id }: Receipt, rows: readonly Row[]): SpoolEnd | undefined {
  const row = rows.find((each) => 'receipt' in each && each.receipt.id === id)
  return row && 'end' in row ? row.end : undefined
}

const MOST_SIBLINGS = 20

function siblingsOf({ id, eventId }: Receipt, rows: readonly Row[]): Receipt[] {
  if (eventId === undefined) return []
  return rows
    .flatMap((row) =>
      'receipt' in row && row.receipt.eventId === eventId && row.receipt.id !== id ? row.receipt : [],
    )
    .slice(0, MOST_SIBLINGS)
}

type FilterProps = { filter: FeedFilter; rows: readonly Row[] }

const Filter = memo(function Filter({ filter, rows }: FilterProps) {
  const onSet = (name: FilterName, value: string) => goTo({ ...filter, [name]: value })
  const receipts = rows.flatMap((row) => ('receipt' in row ? row.receipt : []))
  const choices = (valuesOf: (receipt: Receipt) => (string | undefined)[]) =>
    [...new Set(receipts.flatMap(valuesOf))].filter((value) => value !== undefined).sort()
  return (
    <form
      className="grid grid-cols-2 items-end gap-x-3 gap-y-2 text-note wide:flex wide:flex-wrap"
      aria-label="Filter"
      onSubmit={(event) => event.preventDefault()}
      onReset={() => goTo({})}
    >
      <Choice name="fate" label="Fate" filter={filter} choices={FATES} onSet={onSet} />
      <Choice
        name="reason"
        label="Reason"
        filter={filter}
        choices={choices(({ reason }) => [reason])}
        onSet={onSet}
      />
      <Choice
        name="project"
        label="Project"
        filter={filter}
        choices={choices(({ project }) => [project])}
        onSet={onSet}
      />
      <Choice
        name="type"
        label="Item"
        filter={filter}
        choices={choices(({ items }) => items.map(({ type }) => type))}
        onSet={onSet}
      />
      <Choice name="sdk" label="SDK" filter={filter} choices={choices(({ sdk }) => [sdk])} onSet={onSet} />
      <label className="grid grid-cols-1 gap-1 text-note text-quiet">
        Text
        <input
          type="search"
          defaultValue={filter.text ?? ''}
          onChange={(event) => onSet('text', event.target.value)}
          placeholder="id, event id, replica …"
          className={`${CONTROL} w-full wide:w-52`}
        />
      </label>
      {Object.keys(filter).length > 0 && (
        <Button type="reset" weight="quiet">
          Show all
        </Button>
      )}
    </form>
  )
})

const FATES = [...new Set<string>([...ANSWERS, ...ENDS])]

const CONTROL = 'min-h-11 rounded-part border border-quiet/60 bg-surface px-2 text-note text-ink'

type ChoiceProps = {
  name: FilterName
  label: string
  filter: FeedFilter
  choices: string[]
  onSet: (name: FilterName, value: string) => void
}

function Choice({ name, label, filter, choices, onSet }: ChoiceProps) {
  const chosen = filter[name] ?? ''
  const all = chosen && !choices.includes(chosen) ? [chosen, ...choices] : choices
  return (
    <label className="grid grid-cols-1 gap-1 text-note text-quiet">
      {label}
      <select
        value={chosen}
        onChange={(event) => onSet(name, event.target.value)}
        className={`${CONTROL} w-full wide:max-w-44`}
      >
        <option value="">all</option>
        {all.map((choice) => (
          <option key={choice}>{choice}</option>
        ))}
      </select>
    </label>
  )
}

type ListProps = {
  rows: readonly Row[]
  opened: Receipt | undefined
  onOpen: (receipt: Receipt) => void
  isFiltered: boolean
}

function Empties({ isFiltered }: { isFiltered: boolean }) {
  return (
    <Empty>
      {isFiltered
        ? 'No envelope that has come is like this.'
        : 'No envelope has come yet. Open the site’s start page: its self-check sends one.'}
    </Empty>
  )
}

/** Rows beyond what is seen are not there; where one stands it keeps while others come in above, unless the top is in sight. */
function List({ rows, opened, onOpen, isFiltered }: ListProps) {
  const scroller = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 10,
    getItemKey: (index) => keyOf(rows[index], index),
  })
  const first = useRef<string | number>(undefined)
  useLayoutEffect(() => {
    const element = scroller.current
    const above = rows.slice(0, MOST_ABOVE).findIndex((row, index) => keyOf(row, index) === first.current)
    if (element && element.scrollTop > 0 && above > 0) element.scrollTop += above * ROW_PX
    first.current = keyOf(rows[0], 0)
  }, [rows])
  if (rows.length === 0) return <Empties isFiltered={isFiltered} />
  return (
    <section
      ref={scroller}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
      tabIndex={0}
      aria-label="Envelopes"
      className="mt-0 h-[70dvh] overflow-y-auto rounded-card border border-line bg-surface"
    >
      <ol
        aria-label="Envelopes, newest first"
        className="relative"
        style={{ height: virtual.getTotalSize() }}
      >
        {virtual.getVirtualItems().map(({ index, key, start }) => {
          const row = rows[index]
          return (
            <li
              key={key}
              className="absolute inset-x-0 border-b border-line"
              style={{ height: ROW_PX, transform: `translateY(${start}px)` }}
            >
              {row && 'receipt' in row && (
                <ReceiptRow
                  receipt={row.receipt}
                  end={row.end}
                  isOpen={opened?.id === row.receipt.id}
                  onOpen={onOpen}
                />
              )}
              {row && 'mark' in row && <MarkRow mark={row.mark} />}
            </li>
          )
        })}
      </ol>
    </section>
  )
}

function keyOf(row: Row | undefined, index: number): string | number {
  if (!row) return index
  return 'receipt' in row ? row.receipt.id : `${row.mark.kind} ${row.mark.replica} ${row.mark.time}`
}

type ReceiptRowProps = {
  receipt: Receipt
  end: SpoolEnd | undefined
  isOpen: boolean
  onOpen: (receipt: Receipt) => void
}

function ReceiptRow({ receipt, end, isOpen, onOpen }: ReceiptRowProps) {
  const { time, answer, items, project, bytes, took, reason, sdk } = receipt
  return (
    <button
      type="button"
      aria-expanded={isOpen}
      onClick={() => onOpen(receipt)}
      className="grid size-full cursor-pointer grid-cols-[4.5rem_6.5rem_1fr] items-center gap-3 px-3 text-left text-note hover:bg-sunken aria-expanded:bg-sunken wide:grid-cols-[4.5rem_6.5rem_minmax(6rem,1fr)_minmax(5rem,1fr)_5rem_4.5rem]"
    >
      <span className="font-mono text-quiet tabular-nums">{sayClock(time)}</span>
      <span>
        <FateBadge fate={end?.end ?? answer} />
      </span>
      <span className="truncate">
        {items.map(({ type, count }) => (count ? `${type} ×${count}` : type)).join(', ') || 'unread'}
        {reason && <span className="text-quiet"> · {reason}</span>}
        {end && <span className="text-quiet"> · spooled for {sayDuration(end.waited)}</span>}
      </span>
      <span className="hidden truncate text-quiet wide:block">{project ?? sdk ?? ''}</span>
      <span className="hidden text-right tabular-nums wide:block">{sayBytes(bytes)}</span>
      <span className="hidden text-right tabular-nums wide:block">{sayDuration(took)}</span>
    </button>
  )
}

function MarkRow({ mark }: { mark: Mark }) {
  return (
    <p className="flex h-full items-center gap-2 overflow-hidden bg-sunken px-3 text-note">
      <StateMark state={mark.kind === 'back' ? 'good' : 'bad'} />
      <span className="font-mono text-quiet tabular-nums">{sayClock(mark.time)}</span>
      <span className="truncate">{sayMark(mark)}</span>
    </p>
  )
}

function sayMark(mark: Mark): string {
  switch (mark.kind) {
    case 'missed':
      return `Gap: ${sayCount(mark.missed)} receipts of ${mark.replica} are not shown, they came while nobody read. The figures count them.`
    case 'ended':
      return `Gap: ${mark.replica} has ended. What it settled last may not be shown.`
    case 'silent':
      return `${mark.replica} does not answer.`
    case 'back':
      return `${mark.replica} answers again; nothing is missing.`
  }
}
