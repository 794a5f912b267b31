/** Waterfall of spans, each below its parent. */

import { formatDuration } from '../../../lib/format.ts'
import { Panel, Showing } from '../../../ui/panel.tsx'
import type { Listed } from '../bounds.ts'
import type { Span } from './event.ts'

const MAX_DEPTH = 8

export function Waterfall({ spans: { shown: spans, total } }: { spans: Listed<Span> }) {
  const rows = inOrder(spans)
  const start = spans.reduce((first, { start_timestamp: its = first }) => Math.min(first, its), Infinity)
  const end = spans.reduce((last, { timestamp: its = last }) => Math.max(last, its), -Infinity)
  if (rows.length === 0 || !Number.isFinite(start) || !Number.isFinite(end)) return null
  const whole = Math.max(0.001, end - start)
  return (
    <Panel title="Trace" note={formatDuration(whole)}>
      <ol className="grid grid-cols-1 gap-1 text-note" aria-label="Spans by start time">
        {rows.map(
          ({ depth, span: { op, description, status, start_timestamp: from, timestamp: to } }, index) => {
            const left = Math.min(100, Math.max(0, (100 * ((from ?? start) - start)) / whole))
            const width = Math.min(100 - left, Math.max(0.5, (100 * ((to ?? end) - (from ?? start))) / whole))
            const isBad = status !== undefined && status !== 'ok'
            return (
              <li
                // biome-ignore lint/suspicious/noArrayIndexKey: spans never move
                key={index}
                className="grid grid-cols-[minmax(0,1fr)_4.5rem] items-center gap-x-3 wide:grid-cols-[minmax(0,1fr)_minmax(0,1fr)_4.5rem]"
              >
                <span className={`flex gap-x-2 ${INDENTS[Math.min(depth, MAX_DEPTH)]}`} title={description}>
                  <span className="truncate">
                    {description ?? op} {op && <span className="text-quiet">{op}</span>}
                  </span>
                  {isBad && <span className="max-w-1/2 shrink-0 truncate text-bad">{status}</span>}
                </span>
                <span className="text-right tabular-nums wide:order-last">
                  {formatDuration((to ?? end) - (from ?? start))}
                </span>
                <svg
                  viewBox="0 0 100 8"
                  preserveAspectRatio="none"
                  aria-hidden="true"
                  className="col-span-2 h-2.5 w-full wide:col-span-1"
                >
                  <rect width="100" height="8" className="fill-sunken" />
                  <rect x={left} width={width} height="8" className={isBad ? 'fill-bad' : 'fill-quiet'} />
                </svg>
              </li>
            )
          },
        )}
      </ol>
      <Showing shown={rows} total={total} of="spans" />
    </Panel>
  )
}

const INDENTS = ['', 'pl-3', 'pl-6', 'pl-9', 'pl-12', 'pl-15', 'pl-18', 'pl-21', 'pl-24']

type Placed = { span: Span; depth: number }

/** Orders spans as trees; each span appears once, even if a payload claims cyclic parents. */
function inOrder(spans: readonly Span[]): Placed[] {
  const sorted = spans.toSorted((a, b) => (a.start_timestamp ?? 0) - (b.start_timestamp ?? 0))
  const ids = new Set(sorted.flatMap((span) => span.span_id ?? []))
  const parentOf = ({ span_id: id, parent_span_id: parent }: Span) =>
    parent !== undefined && parent !== id && ids.has(parent) ? parent : undefined
  const children = Map.groupBy(sorted, parentOf)
  const placed: Placed[] = []
  const seen = new Set<Span>()
  const pending = (children.get(undefined) ?? []).map((span) => ({ span, depth: 0 })).reverse()
  for (let next = pending.pop(); next; next = pending.pop()) {
    if (seen.has(next.span)) continue
    seen.add(next.span)
    placed.push(next)
    const own = next.span.span_id === undefined ? [] : (children.get(next.span.span_id) ?? [])
    for (const span of own.toReversed()) pending.push({ span, depth: next.depth + 1 })
  }
  return [...placed, ...sorted.filter((span) => !seen.has(span)).map((span) => ({ span, depth: 0 }))]
}
