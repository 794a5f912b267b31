/** Rows of the live feed. */

import type { Receipt, SpoolOutcome } from 'contract/admin-api'
import { formatBytes, formatCount, formatDuration, formatTime } from '../../../lib/format.ts'
import { OutcomeLabel } from '../../../ui/outcome-badge.tsx'
import { stateLabel } from '../../../ui/states.ts'
import { StateMark } from '../../../ui/status-badge.tsx'
import type { FeedNotice } from './feed-rows.ts'

export const COLUMNS =
  'grid grid-cols-[4.25rem_6.75rem_1fr] items-center gap-3 px-3 wide:grid-cols-[4.25rem_6.75rem_minmax(6rem,1.5fr)_4.5rem_4.5rem] desk:grid-cols-[4.25rem_6.75rem_minmax(6rem,1.5fr)_minmax(5rem,1fr)_4.5rem_4.5rem]'

type Props = {
  receipt: Receipt
  finalOutcome?: SpoolOutcome
  isOpen: boolean
  isTabStop: boolean
  onOpen: () => void
}

export function ReceiptRow({ receipt, finalOutcome, isOpen, isTabStop, onOpen }: Props) {
  const { id, time, outcome, items, project, bytes, duration_ms: durationMs, reason } = receipt
  const shown = finalOutcome?.final_outcome ?? outcome
  return (
    <button
      type="button"
      data-receipt={id}
      tabIndex={isTabStop ? 0 : -1}
      aria-expanded={isOpen}
      onClick={onOpen}
      className={`${COLUMNS} size-full cursor-pointer text-left text-note -outline-offset-3 hover:bg-sunken aria-expanded:bg-sunken`}
    >
      <span className="text-quiet tabular-nums">{formatTime(time)}</span>
      <OutcomeLabel outcome={shown} label={stateLabel(shown)} />
      <span className="truncate">
        {items.map(({ type, count }) => (count ? `${type} ×${count}` : type)).join(', ') || 'not parsed'}
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
}

/** Writes the project ID first, since long texts are cut at the end. */
function formatProject(project: string): string {
  const slash = project.lastIndexOf('/')
  return `${project.slice(slash + 1)} at ${project.slice(0, slash)}`
}

export function NoticeRow({ notice }: { notice: FeedNotice }) {
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
