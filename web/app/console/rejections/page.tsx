/** Rejections: envelopes that were not delivered by reason, with what to do and the settings concerned. */

import { Fragment } from 'react'
import type { OutcomeTime, RejectionSample, Rejections, SettingInForce } from 'tunnel/contract'
import { AutoRefresh } from '../../../features/console/auto-refresh.tsx'
import { cutText, TEXT } from '../../../features/console/bounds.ts'
import { ConsoleShell } from '../../../features/console/console-shell.tsx'
import { consoleFor } from '../../../features/console/data-access.ts'
import { Unheard } from '../../../features/console/notices.tsx'
import { MEANINGS } from '../../../features/console/outcomes.ts'
import { explain } from '../../../features/console/reasons.ts'
import {
  type RejectionCount,
  reasonKey,
  rejectionsIn,
} from '../../../features/console/rejections/rejections.ts'
import { formatCount, formatQuantity } from '../../../lib/format.ts'
import { OutcomeBadge } from '../../../ui/outcome-badge.tsx'
import { Empty } from '../../../ui/panel.tsx'
import { Ago } from '../../../ui/relative-time.tsx'

export const metadata = { title: 'Rejections · Console' }

export default async function RejectionsPage() {
  const door = await consoleFor('/console/rejections')
  const [{ totals, replicas }, told] = await Promise.all([door.look(), door.rejections()])
  const rejections = rejectionsIn(totals)
  const since = Math.min(...replicas.flatMap(({ status }) => status?.since ?? []))
  return (
    <ConsoleShell at="rejections" title="Rejections">
      <AutoRefresh />
      <p className="mb-4 max-w-prose text-note text-quiet">
        Envelopes that were rejected, filtered, rate-limited, declined, aborted or lost from the spool
        {Number.isFinite(since) && (
          <>
            {' '}
            since the first replica started, <Ago time={since} />
          </>
        )}
        . Requests that nginx rejects, such as bodies that are too large, do not reach a replica: see nginx’s
        log.
      </p>
      {rejections.length === 0 &&
        (Number.isFinite(since) ? <Empty>No rejections: every envelope was accepted.</Empty> : <Unheard />)}
      <ul className="grid grid-cols-1 gap-4 desk:grid-cols-2 desk:items-start">
        {rejections.map((refused) => (
          <li
            key={reasonKey(refused)}
            className="min-w-0 rounded-card border border-line bg-surface p-4 wide:p-5"
          >
            <Why refused={refused} told={told} />
          </li>
        ))}
      </ul>
    </ConsoleShell>
  )
}

function Why({ refused, told }: { refused: RejectionCount; told: Rejections }) {
  const { stage, outcome, reason, count, projects } = refused
  const explained = explain(outcome, reason)
  const sample = outcome === 'rejected' ? told.rejections.find(({ code }) => code === reason) : undefined
  return (
    <>
      <div className="flex flex-wrap items-center gap-3">
        <OutcomeBadge outcome={outcome} />
        <h2 className="min-w-0 text-body font-semibold wrap-anywhere">
          {stage === 'waited' ? 'after spooling' : <code>{reason || 'no reason given'}</code>}
        </h2>
        <span className="ml-auto font-semibold tabular-nums">{formatQuantity(count, 'envelope')}</span>
      </div>
      <p className="mt-3 text-note">{explained?.sentence ?? MEANINGS[outcome]}</p>
      {explained && (
        <p className="mt-2 text-note">
          <strong>What to do:</strong> {explained.fix}
        </p>
      )}
      <Settings settings={told.settings[reason || outcome] ?? []} />
      <Since time={told.times.find((time) => reasonKey(time) === reasonKey(refused))} />
      {sample && <Sample sample={sample} />}
      {projects.length > 0 && (
        <p className="mt-2 text-note text-quiet wrap-anywhere">Projects: {formatProjects(projects)}</p>
      )}
      <a
        href={`/console/live-feed?${new URLSearchParams({ outcome, ...(reason && { reason }) })}`}
        className="link mt-3 inline-flex min-h-11 items-center text-note"
      >
        View in the live feed
      </a>
    </>
  )
}

/** First and last time; unknown for counts of a replica that stopped before it reported them. */
function Since({ time }: { time: OutcomeTime | undefined }) {
  if (!time) return null
  return (
    <p className="mt-2 text-note text-quiet">
      First <Ago time={time.first} />, last <Ago time={time.last} />.
    </p>
  )
}

const MOST_PROJECTS = 10

function formatProjects(projects: readonly string[]): string {
  const more = projects.length - MOST_PROJECTS
  const first = projects.slice(0, MOST_PROJECTS).join(', ')
  return more > 0 ? `${first} and ${formatCount(more)} more` : first
}

/** Last rejected request; the tunnel removed values that may be secret. */
function Sample({ sample: { causes, request, headers } }: { sample: RejectionSample }) {
  return (
    <>
      {causes.length > 0 && (
        <p className="mt-1 text-note wrap-anywhere">Details: {cutText(causes.join(' '), TEXT.sample)}</p>
      )}
      <details className="mt-2 text-note">
        <summary className="min-h-8">Last rejected request</summary>
        <pre className="my-2 rounded-part bg-sunken p-3 font-mono whitespace-pre-wrap wrap-anywhere">
          {cutText(
            [request, ...headers.map(([name, value]) => `${name}: ${value ?? '(redacted)'}`)].join('\n'),
            TEXT.sample,
          )}
        </pre>
      </details>
    </>
  )
}

/** Settings that caused the rejection, with their current values. */
function Settings({ settings }: { settings: SettingInForce[] }) {
  if (settings.length === 0) return null
  return (
    <div className="mt-3 text-note">
      <h3 className="font-semibold">{settings.length === 1 ? 'Current setting' : 'Current settings'}</h3>
      <dl className="mt-1 grid grid-cols-[auto_1fr] gap-x-4 gap-y-0.5 font-mono">
        {settings.map(({ name, value }) => (
          <Fragment key={`${name} ${value}`}>
            <dt>{name}</dt>
            <dd className="min-w-0 wrap-anywhere text-quiet">
              <Value value={`${value}`} />
            </dd>
          </Fragment>
        ))}
      </dl>
    </div>
  )
}

const LONGEST_VALUE = 300 // characters

/** Value of a setting; collapsed when it is long, such as a list of a thousand DSNs. */
function Value({ value }: { value: string }) {
  if (value.length <= LONGEST_VALUE) return value
  return (
    <details>
      <summary className="min-h-6">{formatQuantity(value.split(/\s+/).length, 'value')}</summary>
      {value}
    </details>
  )
}
