/** Timeline of breadcrumbs, each with its time before the event. */

import { formatDuration, formatQuantity } from '../../../../lib/format.ts'
import { Panel, Preformatted, Showing } from '../../../../ui/panel.tsx'
import type { Listed } from '../../bounds.ts'
import type { BreadcrumbKind, ShownBreadcrumb } from './breadcrumb.ts'

type Props = { crumbs: Listed<ShownBreadcrumb>; end: number | undefined }

export function Breadcrumbs({ crumbs, end }: Props) {
  return (
    <Panel title="Breadcrumbs" note={formatQuantity(crumbs.total, 'breadcrumb')}>
      <ol
        className="grid grid-cols-[auto_auto_minmax(0,1fr)] text-note"
        aria-label="Breadcrumbs, oldest first"
      >
        {crumbs.shown.map((crumb, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: they have no name, and never move
          <Row key={index} crumb={crumb} end={end} />
        ))}
      </ol>
      <Showing {...crumbs} of="breadcrumbs, the most recent" />
    </Panel>
  )
}

function Row({ crumb, end }: { crumb: ShownBreadcrumb; end: number | undefined }) {
  const { timestamp, kind, label, category, level, text, data } = crumb
  const isBad = level === 'error' || level === 'fatal'
  return (
    <li className="col-span-3 grid grid-cols-subgrid items-baseline gap-x-4 border-t border-line py-1.5 first:border-t-0">
      <span className="text-right text-quiet tabular-nums">
        {timestamp !== undefined && end !== undefined && `−${formatDuration(Math.max(0, end - timestamp))}`}
      </span>
      <span
        title={category}
        className={`flex max-w-40 items-baseline gap-2 ${isBad ? 'text-bad' : 'text-quiet'}`}
      >
        <KindMark kind={kind} />
        <span className="min-w-0 wrap-anywhere">{label}</span>
      </span>
      <div className="col-span-3 min-w-0 wrap-anywhere wide:col-span-1">
        {level && level !== 'info' && (
          <strong className={`font-semibold ${isBad ? 'text-bad' : 'text-quiet'}`}>{level} </strong>
        )}
        {text}
        {data && (
          <details>
            <summary className="min-h-6 text-quiet">Data</summary>
            <Preformatted className="my-1 rounded-part bg-sunken p-2 whitespace-pre-wrap">
              {data}
            </Preformatted>
          </details>
        )}
      </div>
    </li>
  )
}

/** Outlines in a square of 16. */
const MARKS: Record<BreadcrumbKind, string> = {
  click: 'M4 2l8 6-4 1-2 4z',
  input: 'M2 4h12v8H2zM5 6.5v3',
  navigation: 'M2 8h11M9 4l4 4-4 4',
  http: 'M3 5h10l-3-3M13 11H3l3 3',
  console: 'M3 4l4 4-4 4M8.5 12H13',
  sentry: 'M8 2l6 11H2zM8 6.5v3',
  other: 'M8 6a2 2 0 1 0 0 4 2 2 0 1 0 0-4',
}

function KindMark({ kind }: { kind: BreadcrumbKind }) {
  return (
    <svg
      viewBox="0 0 16 16"
      aria-hidden="true"
      className="size-3.5 shrink-0 translate-y-0.5 fill-none stroke-current stroke-[1.5]"
    >
      <path d={MARKS[kind]} strokeLinejoin="round" strokeLinecap="round" />
    </svg>
  )
}
