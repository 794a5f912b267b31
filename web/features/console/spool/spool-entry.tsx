/** Spool entry: details and actions. The payload is only downloaded on request. */

import type { SpoolEntryDetails } from 'contract/store'
import type { ReactNode } from 'react'
import { formatBytes, formatCount, formatQuantity } from '../../../lib/format.ts'
import { formatJson, formatJsonLine } from '../../../lib/format-json.ts'
import { Copyable, CopyIcon } from '../../../ui/code-block.tsx'
import { Fact, Facts, Panel, Preformatted, Showing } from '../../../ui/panel.tsx'
import { Moment } from '../../../ui/relative-time.tsx'
import { ROWS, TEXT } from '../bounds.ts'
import { withQuery } from '../routes.ts'
import { SpoolAction } from './spool-action.tsx'
import { SPOOL } from './spool-query.ts'

type Identity = { id: string; spool: string }

type Props = { id: string; entry: SpoolEntryDetails }

export function SpoolEntry({ id, entry }: Props) {
  const { spool, bytes, received, attempts, receipt, header, items, item_count: total } = entry
  const shown = items.slice(0, ROWS.spoolItems)
  return (
    <EntryLayout id={id} spool={spool}>
      <Panel title="Details">
        <Facts>
          <Fact name="Arrived">
            <Moment time={received} />
          </Fact>
          <Fact name="Entry">
            <Copyable text={id} name="entry ID" />
          </Fact>
          <Fact name="Size">{formatBytes(bytes)}</Fact>
          <Fact name="Attempts">{formatCount(attempts ?? 0)}</Fact>
          <Fact name="Receipt">
            <a
              href={withQuery('/console/live-feed', { receipt })}
              className="link inline-flex min-h-6 items-center"
            >
              {receipt}
            </a>
            <CopyIcon text={receipt} name="receipt ID" />
          </Fact>
        </Facts>
      </Panel>
      <Panel title="Header">
        <Preformatted className="whitespace-pre-wrap">{formatJson(header, TEXT.json)}</Preformatted>
      </Panel>
      <Panel title={formatQuantity(total, 'item')}>
        <ol className="grid grid-cols-1 gap-1 text-note">
          {shown.map((item, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: items do not move
            <li key={index} className="grid grid-cols-[5rem_1fr] gap-3">
              <span className="text-right tabular-nums">{formatBytes(item.bytes)}</span>
              <code className="wrap-anywhere">{formatJsonLine(item.header, TEXT.line)}</code>
            </li>
          ))}
        </ol>
        <Showing {...{ shown, total }} of="items" />
        <Payload id={id} />
      </Panel>
    </EntryLayout>
  )
}

/** Shown for an entry whose headers are too large for a page. */
export function LargeSpoolEntry({ id, spool }: Identity) {
  return (
    <EntryLayout id={id} spool={spool}>
      <Panel title="Headers">
        <p className="text-note">The item headers are too large to show here.</p>
        <Payload id={id} />
      </Panel>
    </EntryLayout>
  )
}

function EntryLayout({ id, spool, children }: Identity & { children: ReactNode }) {
  return (
    <div className="grid grid-cols-1 gap-4">
      <div className="flex flex-wrap items-center gap-3 text-note">
        <a href={SPOOL} className="link-block">
          Back to the spool
        </a>
        <SpoolAction
          spool={spool}
          action="retry"
          selection={{ id }}
          label="Retry this envelope now"
          scope="this envelope"
        />
        <SpoolAction
          spool={spool}
          action="purge"
          selection={{ id }}
          label="Purge this envelope"
          scope="this envelope"
        />
      </div>
      {children}
    </div>
  )
}

function Payload({ id }: Pick<Identity, 'id'>) {
  return (
    <details className="mt-4 text-note">
      <summary className="min-h-8">Payload</summary>
      <p className="my-2 text-quiet">
        It contains whatever the page put into its report. Each download is recorded in the tunnel’s log.
      </p>
      <a href={`${SPOOL}/${id}/envelope`} download className="link inline-flex min-h-6 items-center">
        Download the envelope
      </a>
    </details>
  )
}
