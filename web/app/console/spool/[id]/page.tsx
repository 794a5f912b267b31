/** Spool entry: details and actions. The payload is only downloaded on request. */

import { notFound } from 'next/navigation'
import { ROWS, TEXT } from '../../../../features/console/bounds.ts'
import { ConsoleShell } from '../../../../features/console/console-shell.tsx'
import { consoleFor } from '../../../../features/console/data-access.ts'
import { type Query, withQuery } from '../../../../features/console/routes.ts'
import { SpoolAction } from '../../../../features/console/spool/action-button.tsx'
import { formatBytes, formatCount, formatQuantity } from '../../../../lib/format.ts'
import { formatJson, formatJsonLine } from '../../../../lib/format-json.ts'
import { Panel } from '../../../../ui/panel.tsx'
import { Moment } from '../../../../ui/relative-time.tsx'

export const metadata = { title: 'Spool entry · Console' }

type Props = { params: Promise<{ id: string }>; searchParams: Promise<Query> }

export default async function SpoolEntryPage({ params, searchParams }: Props) {
  const [{ id }, query] = [await params, await searchParams]
  const door = await consoleFor(withQuery(`/console/spool/${id}`, query))
  const spool = String(query.spool ?? '')
  const found = await door.waitingOne(spool, id)
  if (!found) notFound()
  if (found === 'too large') return <TooLarge id={id} spool={spool} />
  const {
    project,
    category,
    bytes,
    received,
    attempts,
    receipt,
    header,
    items,
    item_count: itemCount,
  } = found
  return (
    <ConsoleShell at="spool" title={`Spool entry: ${category} of ${project}`}>
      <div className="grid grid-cols-1 gap-4">
        <div className="flex flex-wrap items-center gap-3 text-note">
          <Acts id={id} spool={found.spool} />
        </div>
        <Panel title="Details">
          <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1 text-note">
            <dt className="text-quiet">Arrived</dt>
            <dd>
              <Moment time={received} />
            </dd>
            <dt className="text-quiet">Size</dt>
            <dd>{formatBytes(bytes)}</dd>
            <dt className="text-quiet">Attempts</dt>
            <dd>{formatCount(attempts)}</dd>
            <dt className="text-quiet">Receipt</dt>
            <dd className="wrap-anywhere">
              <a href={`/console/live-feed?text=${receipt}`} className="link">
                {receipt}
              </a>
            </dd>
          </dl>
        </Panel>
        <Panel title="Header">
          <pre className="overflow-x-auto font-mono text-note whitespace-pre-wrap">
            {formatJson(header, TEXT.json)}
          </pre>
        </Panel>
        <Panel title={formatQuantity(itemCount, 'item')}>
          <ol className="grid grid-cols-1 gap-1 text-note">
            {items.slice(0, ROWS.spoolItems).map((item, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the order of items is theirs
              <li key={index} className="grid grid-cols-[5rem_1fr] gap-3">
                <span className="text-right tabular-nums">{formatBytes(item.bytes)}</span>
                <code className="wrap-anywhere">{formatJsonLine(item.header, TEXT.line)}</code>
              </li>
            ))}
          </ol>
          {itemCount > ROWS.spoolItems && (
            <p className="mt-2 text-note text-quiet">
              Showing {ROWS.spoolItems} of {formatCount(itemCount)} items. The envelope has all of them.
            </p>
          )}
          <Payload id={id} spool={found.spool} />
        </Panel>
      </div>
    </ConsoleShell>
  )
}

type EntryProps = { id: string; spool: string }

function Acts({ id, spool }: EntryProps) {
  return (
    <>
      <a href="/console/spool" className="link inline-flex min-h-11 items-center text-note">
        Back to the spool
      </a>
      <SpoolAction spool={spool} act="retry" what={{ id }} label="Retry now" />
      <SpoolAction spool={spool} act="purge" what={{ id }} label="Purge" />
    </>
  )
}

function Payload({ id, spool }: EntryProps) {
  return (
    <details className="mt-4 text-note">
      <summary className="min-h-8">Payload</summary>
      <p className="my-2 text-quiet">
        It contains whatever the page put into its report. Each download is recorded in the tunnel’s log.
      </p>
      <a href={`/console/spool/${id}/envelope?${new URLSearchParams({ spool })}`} download className="link">
        Download the envelope
      </a>
    </details>
  )
}

function TooLarge({ id, spool }: EntryProps) {
  return (
    <ConsoleShell at="spool" title="Spool entry">
      <div className="grid grid-cols-1 gap-4">
        <div className="flex flex-wrap items-center gap-3 text-note">
          <Acts id={id} spool={spool} />
        </div>
        <Panel title="Headers">
          <p className="text-note">The item headers are too large to show here.</p>
          <Payload id={id} spool={spool} />
        </Panel>
      </div>
    </ConsoleShell>
  )
}
