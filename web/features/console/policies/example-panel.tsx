/** Values that scrubbing would change in an envelope of the inbox, before and after. They are untrusted: shown as text only. */

import type { ScrubChange } from 'contract/policies'
import { formatQuantity } from '../../../lib/format.ts'
import { Empty, Panel, Showing } from '../../../ui/panel.tsx'
import { Ago } from '../../../ui/relative-time.tsx'
import { Table } from '../../../ui/table.tsx'
import { cutText, TEXT } from '../bounds.ts'
import type { Example, Found } from './example.ts'

const CELL = 'align-top wrap-anywhere'
const COLUMNS = [
  { name: 'Value', className: `${CELL} w-1/4` },
  { name: 'Before', className: `${CELL} w-3/8` },
  { name: 'After', className: `${CELL} w-3/8` },
]

export function ExamplePanel({ example }: { example: Example }) {
  return (
    <Panel title="Example" note="values of an inbox entry that scrubbing would change">
      {example.state === 'found' ? (
        <Changes {...example} />
      ) : (
        <Empty>
          <Reason example={example} />
        </Empty>
      )}
    </Panel>
  )
}

function Reason({ example }: { example: Exclude<Example, { state: 'found' }> }) {
  switch (example.state) {
    case 'off':
      return (
        <>
          Set <code>SCRUB=default observe</code> and <code>KEEP_HOURS=24</code> to see an envelope before and
          after scrubbing.
        </>
      )
    case 'enforced':
      return (
        <>
          Scrubbing is enforced, and the inbox stores envelopes after it: there is nothing to compare. With{' '}
          <code>observe</code> in <code>SCRUB</code> this panel shows what scrubbing would change.
        </>
      )
    case 'no-inbox':
      return (
        <>
          No replica has responded with envelopes of an inbox. Set <code>KEEP_HOURS=24</code> to keep
          envelopes to compare.
        </>
      )
    case 'unchanged':
      return example.searched === 0 ? (
        'The inbox is empty. An example appears when an envelope with something to scrub arrives.'
      ) : (
        <>
          Scrubbing would change no value in the newest {formatQuantity(example.searched, 'envelope')} of the
          inbox. Envelopes above 128 KiB are not searched.
        </>
      )
  }
}

function Changes({ entry, changes, total }: Found) {
  return (
    <>
      <p className="mb-3 text-note wrap-anywhere">
        <a
          href={`/console/inbox/${encodeURIComponent(entry.id)}`}
          className="link inline-flex min-h-6 items-center"
        >
          {cutText(entry.title, TEXT.title) || 'Envelope without a title'}
        </a>{' '}
        <span className="text-quiet">
          <Ago time={entry.time} />
        </span>
      </p>
      <Table
        label="Values before and after scrubbing"
        columns={COLUMNS}
        rows={changes.map((change, index) => ({ key: index, cells: cellsOf(change) }))}
      />
      <Showing shown={changes} total={total} of="values" />
    </>
  )
}

function cellsOf({ item, path, before, after, rule }: ScrubChange) {
  return [
    <span key="value">
      <code>{path}</code>
      <span className="block text-quiet">{`${item}, ${rule}`}</span>
    </span>,
    <code key="before">{before}</code>,
    <code key="after">{after}</code>,
  ]
}
