/** Panel of a project: traffic by category and outcome, spool share, mirrors, limits, senders and SDK configuration. */

import type { LastSeen } from 'contract/admin-api'
import { categoryLabel } from 'contract/categories'
import { remedyOfStatus } from 'contract/situation/upstream-errors'
import type { LimitInForce, ProjectRefusal } from 'contract/upstream'
import type { ReactNode } from 'react'
import { formatBytes, formatCount, formatPercent } from '../../../lib/format.ts'
import { CodeBlock, Copyable } from '../../../ui/code-block.tsx'
import { Empty, Panel } from '../../../ui/panel.tsx'
import { Ago, In } from '../../../ui/relative-time.tsx'
import { Badge, OutcomeLabel } from '../../../ui/status-badge.tsx'
import { WideTable } from '../../../ui/table.tsx'
import { SETUP, withQuery } from '../routes.ts'
import type { Amount, MirrorView, ProjectView, SpoolShare } from './projects.ts'
import { initSnippet, scriptTag } from './snippets.ts'

type Props = {
  project: ProjectView
  tunnelPath: string
  /** Unfolds the SDK configuration. */
  shows: 'configuration' | 'traffic'
}

/** `row`: alone in its row, so that the SDK configuration is beside the traffic. */
type PanelProps = Props & { layout: 'card' | 'row' }

export function ProjectPanel({ project, tunnelPath, shows, layout }: PanelProps) {
  return (
    <Panel title={project.name}>
      <div className={layout === 'row' ? 'desk:grid desk:grid-cols-2 desk:items-start desk:gap-x-8' : ''}>
        <Activity project={project} />
        <details
          className={`mt-3 min-w-0 text-note ${layout === 'row' ? 'desk:mt-0' : ''}`}
          open={shows === 'configuration'}
        >
          <summary className="min-h-8">SDK configuration</summary>
          <Snippets project={project} tunnelPath={tunnelPath} />
        </details>
      </div>
    </Panel>
  )
}

function Refusal({ refusal: { status, message } }: { refusal: ProjectRefusal }) {
  return (
    <li className="wrap-anywhere">
      <Badge state="bad">refused by the server</Badge> HTTP {status}
      {message !== undefined && `: “${message}”`}. {remedyOfStatus(status).replace('check', 'Check')}
    </li>
  )
}

function Limits({ limits }: { limits: LimitInForce[] }) {
  return limits.map(({ category, until, standing }) =>
    standing ? (
      <li key={category}>{categoryLabel(category)}: the server does not store it</li>
    ) : (
      <li key={category}>
        <Badge state="hold">rate-limited</Badge> {categoryLabel(category)}, ends <In time={until} />
      </li>
    ),
  )
}

function Mirror({ mirror }: { mirror: MirrorView }) {
  const { name, delivered, mirrored, others, pending, missed, limits, isAway, refusal } = mirror
  const rest = missed.map(({ result, count }) => `${formatCount(count)} ${result}`)
  return (
    <li>
      <span className="wrap-anywhere">Mirror {name}</span>: {formatCount(delivered)} delivered here,{' '}
      {formatCount(mirrored)} there
      {others.length > 0 && `, with those of ${others.join(' and ')}`}
      {pending !== undefined && `, ${formatCount(pending)} pending`}
      {rest.length > 0 && `; ${rest.join(', ')}`}
      {isAway && (
        <>
          {' '}
          <Badge state="wait">not responding</Badge>
        </>
      )}
      {(refusal || limits.length > 0) && (
        <ul className="mt-1 ml-4 grid gap-1">
          {refusal && <Refusal refusal={refusal} />}
          <Limits limits={limits} />
        </ul>
      )}
    </li>
  )
}

/** Traffic, spool share, mirrors, limits and senders. */
function Activity({ project }: { project: ProjectView }) {
  const { traffic, finalOutcomes, share, mirrors, limits, hasCspEndpoint, refusal } = project
  const { sdks, releases, unknownTypes } = project
  return (
    <div className="min-w-0">
      {traffic.length > 0 ? (
        <Traffic project={project} />
      ) : (
        <Empty>
          No envelopes since the replicas started.{' '}
          <a href={SETUP} className="link">
            Set up your site
          </a>
          .
        </Empty>
      )}
      <ul className="mt-3 grid gap-1 text-note">
        {finalOutcomes.length > 0 && (
          <li>
            Spooled envelopes, final outcome:{' '}
            {finalOutcomes.map(({ outcome, count }) => `${outcome} ${formatCount(count)}`).join(', ')}
          </li>
        )}
        {share && <Share share={share} />}
        {mirrors.map((mirror) => (
          <Mirror key={mirror.name} mirror={mirror} />
        ))}
        {refusal && <Refusal refusal={refusal} />}
        {hasCspEndpoint && <li>CSP reports: sent to the endpoint /security/ of the server</li>}
        <Limits limits={limits} />
      </ul>
      <Names title="Recent SDKs" names={sdks} none="No envelope has named an SDK yet." />
      <Names
        title="Recent releases"
        names={releases}
        none={
          <>
            None yet. SDKs send the release in the envelope header only if <code>release</code> is set and
            tracing is on.
          </>
        }
      />
      {unknownTypes.length > 0 && (
        <Names
          title="Unknown item types"
          names={unknownTypes.map(({ name, last, count }) => ({
            name: `${name} · ${formatCount(count)}`,
            last,
          }))}
          none=""
        />
      )}
    </div>
  )
}

type IdleProps = Omit<Props, 'project'> & {
  projects: ProjectView[]
  /** Replicas whose counts are missing. */
  failed: number
}

/** List of projects without traffic, each with its SDK configuration. */
export function IdleProjects({ projects, tunnelPath, shows, failed }: IdleProps) {
  return (
    <Panel
      title={failed > 0 ? 'No envelopes known' : 'No envelopes yet'}
      note={
        <a href={SETUP} className="link inline-flex min-h-6 items-center">
          Set-up, step by step
        </a>
      }
    >
      <ul
        className={`grid grid-cols-1 gap-x-8 text-note ${projects.length > 1 ? 'desk:grid-cols-2 desk:items-start' : ''}`}
      >
        {projects.map((project) => (
          <li key={project.name} className="min-w-0">
            <details className="border-t border-line py-1" open={shows === 'configuration'}>
              <summary className="min-h-7 wrap-anywhere">{project.name}</summary>
              <Snippets project={project} tunnelPath={tunnelPath} />
            </details>
          </li>
        ))}
      </ul>
    </Panel>
  )
}

function Snippets({ project: { name, dsns }, tunnelPath }: Omit<Props, 'shows'>) {
  return dsns.map((dsn) => (
    <div key={dsn} className="@container my-2">
      <p className="mb-3">
        DSN <Copyable text={dsn} name="DSN" />
      </p>
      <div className="grid grid-cols-1 items-start gap-x-8 gap-y-4 @3xl:grid-cols-2">
        <div>
          <p className="mb-2 text-quiet">With an SDK in your app:</p>
          <CodeBlock
            label={`SDK configuration of ${name}`}
            text={initSnippet(dsn, tunnelPath)}
            copy="Copy Sentry.init"
          />
        </div>
        <div>
          <p className="mb-2 text-quiet">Without an SDK in your app, one line in the head of a page:</p>
          <CodeBlock
            label={`Script tag of ${name}`}
            text={scriptTag(dsn, tunnelPath)}
            copy="Copy the script tag"
          />
        </div>
      </div>
    </div>
  ))
}

function Traffic({ project: { name, outcomes, traffic, totals } }: { project: ProjectView }) {
  const columns = outcomes.map((outcome) => ({
    className: 'text-right whitespace-nowrap',
    name: (
      <a
        href={withQuery('/console/live-feed', { project: name, outcome })}
        className="inline-flex min-h-6 items-center no-underline hover:underline"
      >
        <OutcomeLabel outcome={outcome} />
      </a>
    ),
  }))
  const cellsOf = (amounts: ProjectView['totals']) =>
    outcomes.map((outcome) => <AmountText key={outcome} amount={amounts[outcome]} />)
  const rows = traffic.map(({ category, amounts }) => ({
    key: category,
    cells: [categoryLabel(category), ...cellsOf(amounts)],
  }))
  return (
    <WideTable
      area={`Traffic of ${name}`}
      label={`Envelopes of ${name} by category and outcome`}
      columns={[{ name: 'Category', className: 'align-top' }, ...columns]}
      rows={rows}
      total={['all', ...cellsOf(totals)]}
    />
  )
}

function AmountText({ amount }: { amount: Amount | undefined }) {
  return (
    amount && (
      <>
        {formatCount(amount.envelopes)}
        <span className="block font-normal text-quiet">{formatBytes(amount.bytes)}</span>
      </>
    )
  )
}

function Share({ share: { partitions, bytes, maxBytes } }: { share: SpoolShare }): ReactNode {
  if (partitions.length === 0)
    return <li>No pending envelopes; the project may use {formatBytes(maxBytes)} of the spool.</li>
  return (
    <li>
      <Badge state="wait">pending</Badge>{' '}
      {partitions
        .map(({ category, envelopes }) => `${formatCount(envelopes)} ${categoryLabel(category)}`)
        .join(', ')}
      : {formatBytes(bytes)}, {formatPercent(bytes / maxBytes)} of its share of the spool
    </li>
  )
}

const SHOWN_AT_ONCE = 5

function Names({ title, names, none }: { title: string; names: LastSeen[]; none: ReactNode }) {
  const more = names.slice(SHOWN_AT_ONCE)
  return (
    <>
      <h3 className="mt-4 mb-1 text-note font-semibold">{title}</h3>
      {names.length === 0 && <Empty>{none}</Empty>}
      <NameList names={names.slice(0, SHOWN_AT_ONCE)} />
      {more.length > 0 && (
        <details className="text-note">
          <summary className="min-h-8">{more.length} more</summary>
          <NameList names={more} />
        </details>
      )}
    </>
  )
}

function NameList({ names }: { names: LastSeen[] }) {
  return (
    <ul className="grid gap-0.5 text-note">
      {names.map(({ name, last }) => (
        <li key={name} className="flex flex-wrap justify-between gap-x-3">
          <span className="min-w-0 wrap-anywhere">{name}</span>
          <span className="text-quiet">
            <Ago time={last} />
          </span>
        </li>
      ))}
    </ul>
  )
}
