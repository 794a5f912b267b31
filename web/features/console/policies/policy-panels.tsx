/** Panels of the policies: their modes, quotas, storms, rules, and an example of scrubbing, whose untrusted values are shown as text only. */

import type {
  PolicyMode,
  PolicyName,
  PolicyStatus,
  QuotaStatus,
  ScrubChange,
  StormStatus,
} from 'contract/policies'
import type { ReactNode } from 'react'
import { formatCount, formatPercent, formatQuantity } from '../../../lib/format.ts'
import { Empty, Panel, Showing } from '../../../ui/panel.tsx'
import { Ago, When } from '../../../ui/relative-time.tsx'
import { Badge } from '../../../ui/status-badge.tsx'
import { Table } from '../../../ui/table.tsx'
import { cutText, TEXT } from '../bounds.ts'
import { type Example, type Found, quotaName, type RuleHits } from './policies.ts'

export function PolicyList({ policies: { scrub, storm, quota } }: { policies: PolicyStatus }) {
  return (
    <Panel title="Scrubbing, quotas and storms">
      <ul className="grid grid-cols-1 gap-4 wide:grid-cols-3">
        <Policy name="Scrubbing" mode={scrub?.mode} enforce="Remove observe from SCRUB">
          {scrub ? (
            <>
              {scrub.mode === 'enforce' ? 'Removes' : 'Would remove'} personal data and secrets, level{' '}
              {scrub.level}.
            </>
          ) : (
            <>
              Personal data is forwarded as browsers send it. Set <Setting line="SCRUB=default" /> to remove
              it, and <Setting line="SCRUB=default observe" /> to see first what would be removed.
            </>
          )}
        </Policy>
        <Policy name="Quotas" mode={quota?.mode} enforce="Remove observe from QUOTA">
          {quota ? (
            <>{formatQuantity(quota.quotas.length, 'quota')} by project, category and period.</>
          ) : (
            <>
              Everything is forwarded. Set <Setting line="QUOTA=error=50000/day" /> to bound the errors of a
              day, and add <Setting line="observe" /> to see first what would be dropped.
            </>
          )}
        </Policy>
        <Policy name="Storm protection" mode={storm?.mode} enforce="Add enforce to STORM_LIMIT">
          {storm ? (
            <>
              Of identical errors, {storm.limit} a minute {storm.mode === 'enforce' ? 'are' : 'would be'}{' '}
              forwarded, and one in 100 of the others.
            </>
          ) : (
            <>
              Identical errors are not counted. Set <Setting line="STORM_LIMIT=100 enforce" /> to sample those
              beyond 100 a minute.
            </>
          )}
        </Policy>
      </ul>
    </Panel>
  )
}

type PolicyProps = { name: string; mode: PolicyMode | undefined; enforce: string; children: ReactNode }

function Policy({ name, mode, enforce, children }: PolicyProps) {
  return (
    <li className="min-w-0 text-note">
      <div className="mb-1 flex flex-wrap items-center gap-2">
        <h3 className="font-semibold">{name}</h3>
        <ModeBadge mode={mode} />
      </div>
      <p className="max-w-prose text-quiet">{children}</p>
      {mode === 'observe' && (
        <p className="mt-1 max-w-prose text-quiet">
          It only counts, and changes nothing. {enforce} to make it take effect.
        </p>
      )}
    </li>
  )
}

function ModeBadge({ mode }: { mode: PolicyMode | undefined }) {
  if (mode === undefined) return <Badge state="idle">off</Badge>
  return mode === 'enforce' ? <Badge state="good">enforced</Badge> : <Badge state="wait">observes</Badge>
}

function Setting({ line }: { line: string }) {
  return <code className="text-ink wrap-anywhere">{line}</code>
}

const MAX_QUOTAS = 50
const LOW_SHARE = 0.8 // from here on, the bar warns

const EXCEEDED = 'Once enforced, items of this category would be removed.'

export function QuotaBars({ quota }: { quota: PolicyStatus['quota'] }) {
  const quotas = quota?.quotas ?? []
  const shown = quotas.slice(0, MAX_QUOTAS)
  return (
    <Panel title="Quotas" note="days and hours are those of UTC">
      {quota && quotas.length > 0 ? (
        <>
          <ul className="grid grid-cols-1 gap-4">
            {shown.map((each) => (
              <QuotaBar
                key={`${each.project} ${each.category} ${each.period}`}
                quota={each}
                mode={quota.mode}
              />
            ))}
          </ul>
          <Showing shown={shown} total={quotas.length} of="quotas" />
        </>
      ) : (
        <Empty>
          No quota is set. <code>QUOTA</code> limits the items of a data category, like{' '}
          <code className="wrap-anywhere">error=50000/day,transaction=10000/hour</code>.
        </Empty>
      )}
    </Panel>
  )
}

function QuotaBar({ quota, mode }: { quota: QuotaStatus; mode: PolicyMode }) {
  const { project, used, limit, resets } = quota
  const share = used / limit
  return (
    <li className="min-w-0 text-note tabular-nums">
      <div className="flex flex-wrap items-baseline justify-between gap-x-4">
        <h3 className="min-w-0 font-semibold wrap-anywhere">
          {quotaName(quota)} <span className="font-normal text-quiet">{project}</span>
        </h3>
        <p>
          {formatCount(used)} of {formatCount(limit)} ({formatPercent(share)})
        </p>
      </div>
      <Bar share={share} />
      <p className="mt-1 text-quiet">
        {share >= 1 && <strong className="text-ink">{mode === 'enforce' ? 'Used up.' : EXCEEDED} </strong>}
        It starts again at <When time={resets} />.
      </p>
    </li>
  )
}

/** Bar of a width that a policy for inline styles does not forbid. The text beside it says the same. */
function Bar({ share }: { share: number }) {
  const colour = share < LOW_SHARE ? 'fill-good' : share < 1 ? 'fill-wait' : 'fill-bad'
  return (
    <svg
      viewBox="0 0 100 1"
      preserveAspectRatio="none"
      aria-hidden="true"
      className="mt-1 block h-2 w-full rounded-full bg-sunken"
    >
      <rect width={Math.min(100, share * 100)} height="1" className={colour} />
    </svg>
  )
}

export function StormList({ storm }: { storm: PolicyStatus['storm'] }) {
  return (
    <Panel title="Storms now">
      {storm && storm.storms.length > 0 ? (
        <ul className="grid grid-cols-1 gap-3">
          {storm.storms.map((each) => (
            <Storm
              key={`${each.project} ${each.fingerprint}`}
              storm={each}
              isObserved={storm.mode === 'observe'}
            />
          ))}
        </ul>
      ) : (
        <Empty>
          {storm
            ? `No error has arrived more than ${formatCount(storm.limit)} times in the last minute: there is nothing to do.`
            : 'Storm protection is off: STORM_LIMIT is 0. To turn it on, set the identical errors a minute that may pass, for example STORM_LIMIT=100. Add enforce to sample those beyond.'}
        </Empty>
      )}
    </Panel>
  )
}

function Storm({ storm, isObserved }: { storm: StormStatus; isObserved: boolean }) {
  const { title, project, seen, sent, since } = storm
  return (
    <li className="min-w-0 border-t border-line pt-2 text-note tabular-nums first:border-t-0 first:pt-0">
      <p className="font-semibold wrap-anywhere">{cutText(title, TEXT.name)}</p>
      <p>
        ×{formatCount(seen)}, {formatCount(sent)} {isObserved ? 'would have been sent' : 'sent'}
      </p>
      <p className="text-quiet wrap-anywhere">
        {project}, began <Ago time={since} />
      </p>
    </li>
  )
}

const MAX_RULES = 100

const RULE_COLUMNS = [
  { name: 'Rule', className: 'align-top wrap-anywhere' },
  { name: 'Policy', className: 'align-top' },
  { name: 'Last hour', className: 'text-right align-top' },
  { name: 'Last hit', className: 'text-right align-top' },
]

const POLICY_NAMES: Record<PolicyName, string> = { scrub: 'Scrubbing', storm: 'Storms', quota: 'Quotas' }

export function RuleTable({ rules, scrub }: { rules: readonly RuleHits[]; scrub: PolicyStatus['scrub'] }) {
  const shown = rules.slice(0, MAX_RULES)
  return (
    <Panel title="Rules" note="values and items that were removed, or would have been">
      {rules.length === 0 ? (
        <Empty>
          {scrub ? (
            'No rule has found anything in the last 24 hours: there is nothing to do.'
          ) : (
            <>
              Rules appear here when <code>SCRUB</code> or a quota is set, or when a storm begins.
            </>
          )}
        </Empty>
      ) : (
        <Table
          label="Rules with their hits in the last hour"
          columns={RULE_COLUMNS}
          rows={shown.map(rowOf)}
        />
      )}
      <Showing shown={shown} total={rules.length} of="rules" />
    </Panel>
  )
}

function rowOf({ policy, rule, lastHour, last }: RuleHits) {
  return {
    key: `${policy} ${rule}`,
    cells: [
      <code key="rule">{cutText(rule, TEXT.name)}</code>,
      POLICY_NAMES[policy],
      formatCount(lastHour),
      <span key="last" className="text-quiet">
        {last === undefined ? 'none in 24 hours' : <Ago time={last} />}
      </span>,
    ],
  }
}

const EXAMPLE_CELL = 'align-top wrap-anywhere'
const EXAMPLE_COLUMNS = [
  { name: 'Value', className: `${EXAMPLE_CELL} w-1/4` },
  { name: 'Before', className: `${EXAMPLE_CELL} w-3/8` },
  { name: 'After', className: `${EXAMPLE_CELL} w-3/8` },
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
        columns={EXAMPLE_COLUMNS}
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
