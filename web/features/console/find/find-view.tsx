/** Search for an event by its ID, and the outcome of each of its envelopes. */

import type { Rejections } from 'contract/admin-api'
import { categoryLabel } from 'contract/categories'
import type { Deployment } from 'contract/situation/deployments'
import type { UpstreamView } from 'contract/situation/upstreams'
import type { SpoolPause } from 'contract/spool'
import type { StoreEntry } from 'contract/store'
import type { ReactNode } from 'react'
import { formatBytes, formatDuration, formatQuantity } from '../../../lib/format.ts'
import { Button } from '../../../ui/button.tsx'
import { Empty, Showing } from '../../../ui/panel.tsx'
import { Moment } from '../../../ui/relative-time.tsx'
import { OUTCOME_STATES, outcomeLabel, type State } from '../../../ui/states.ts'
import { Badge } from '../../../ui/status-badge.tsx'
import { INBOX } from '../inbox/inbox-query.ts'
import { Notice } from '../notices.tsx'
import { MEANINGS, typeLabel } from '../outcomes.ts'
import { explain } from '../reasons.ts'
import { FIND, withQuery } from '../routes.ts'
import { SettingLine } from '../setting-line.tsx'
import { nameReason, remedyOf } from '../spool/entry-reason.ts'
import { NextAttempt } from '../spool/next-attempt.tsx'
import { SpoolAction } from '../spool/spool-action.tsx'
import { SPOOL } from '../spool/spool-query.ts'
import { type Finding, type FindingState, type Findings, isNeverSeen } from './findings.ts'

type Context = {
  /** Settings in force, by reason. */
  settings: Rejections['settings']
  deployment: Deployment | undefined
  hasInbox: boolean
  /** Host of Sentry; absent in inbox mode. */
  sentryHost: string | undefined
  /** ID of the store that the console shows. */
  store: string | undefined
  /** Pauses and circuit breakers, which may hold pending envelopes back. */
  paused: readonly SpoolPause[] | undefined
  upstreams: readonly UpstreamView[]
}

const MAX_SHOWN = 50

export function FindResult({ found, ...context }: Context & { found: Findings }) {
  const { findings, silent, since } = found
  const shown = findings.slice(0, MAX_SHOWN)
  return (
    <div className="grid grid-cols-1 gap-4">
      <div role="status" className="grid grid-cols-1 gap-2 text-note">
        {findings.length > 0 && <p>{formatQuantity(findings.length, 'envelope')} of this event.</p>}
        {silent > 0 && (
          <Notice state="bad">
            {silent === 1 ? 'One replica has' : `${silent} replicas have`} not answered.{' '}
            {findings.length > 0
              ? 'It may know of further envelopes.'
              : 'It is unknown whether the report has arrived.'}{' '}
            See{' '}
            <a href="/console/replicas" className="link">
              Replicas
            </a>
            , or search again.
          </Notice>
        )}
        {silent === 0 && since === undefined && (
          <Notice state="bad">No replica is running, so it is unknown whether the report has arrived.</Notice>
        )}
        {isNeverSeen(found) && since !== undefined && <NeverSeen since={since} />}
      </div>
      {shown.length > 0 && (
        <ul aria-label="Envelopes of the event, the newest first" className="grid grid-cols-1 gap-4">
          {shown.map((finding) => (
            <FindingCard key={`${finding.id} ${finding.project}`} finding={finding} {...context} />
          ))}
        </ul>
      )}
      <Showing shown={shown} total={findings.length} of="envelopes" />
    </div>
  )
}

function NeverSeen({ since }: { since: number }) {
  return (
    <div className="grid max-w-prose gap-2">
      <p>
        <strong>Never seen.</strong> No receipt and no entry of a store has this ID. The receipts go back to{' '}
        <Moment time={since} />.
      </p>
      <Empty>
        If the report is newer, the browser has not sent it: it is offline, an extension blocks it, or the SDK
        has sampled or filtered it. The live feed and Rejections show what arrives. If it is older, its
        receipt is gone.
      </Empty>
    </div>
  )
}

/** Shape and colour of the states that are no outcomes. */
const STATES: Record<Extract<FindingState, 'pending' | 'kept' | 'lost-track'>, State> = {
  ...{ pending: 'wait', kept: 'good', 'lost-track': 'idle' },
}

function FindingCard({ finding, ...context }: Context & { finding: Finding }) {
  const { settings, deployment, hasInbox, sentryHost, store, ...held } = context
  const { id, state, project, received, receipt, entry, kept, isElsewhere } = finding
  const remedy = entry && remedyOf(entry, settings)
  const stored = [entry, kept].find((each) => each?.stored && each.state !== 'pending')
  const bytes = receipt?.bytes ?? (entry ?? kept)?.bytes
  const facts = [
    receipt
      ? receipt.items.map(({ type }) => typeLabel(type)).join(', ')
      : categoryLabel((entry ?? kept)?.category ?? 'none'),
    bytes !== undefined && formatBytes(bytes),
    project !== undefined && `project ${project}`,
  ]
  return (
    <li className="panel mt-0 text-note">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <Badge state={isOutcome(state) ? OUTCOME_STATES[state] : STATES[state]}>
          {state === 'lost-track' ? 'unknown' : outcomeLabel(state)}
        </Badge>
        <span className="min-w-0 wrap-anywhere text-quiet">{facts.filter(Boolean).join(', ')}</span>
      </div>
      <p className="mt-3 max-w-prose wrap-anywhere">
        <Sentence {...{ finding, sentryHost }} {...held} />
      </p>
      <p className="mt-1 text-quiet">
        Arrived <Moment time={received} />.
      </p>
      {remedy && (
        <div className="mt-2 grid max-w-prose grid-cols-1 gap-2 wrap-anywhere">
          <p>
            <strong>What to do:</strong> {remedy.sentence}
          </p>
          {remedy.line && <SettingLine line={remedy.line} deployment={deployment} />}
        </div>
      )}
      <div className="mt-2 flex flex-wrap items-center gap-x-4 gap-y-2">
        {stored && sentryHost !== undefined && store !== undefined && !isElsewhere && (
          <SendAgain spool={store} entry={stored} />
        )}
        <Links finding={finding} id={id} hasInbox={hasInbox} />
      </div>
    </li>
  )
}

function isOutcome(state: FindingState): state is Exclude<FindingState, keyof typeof STATES> {
  return Object.hasOwn(OUTCOME_STATES, state)
}

function SendAgain({ spool, entry: { id, state } }: { spool: string; entry: StoreEntry }) {
  return (
    <SpoolAction
      spool={spool}
      action="resend"
      selection={{ id, state }}
      label="Send again"
      scope="this envelope"
    />
  )
}

function Links({ finding, id, hasInbox }: { finding: Finding; id: string; hasInbox: boolean }) {
  const { receipt, entry, kept, isElsewhere } = finding
  return (
    <>
      {entry?.state === 'pending' && !isElsewhere && (
        <a href={`${SPOOL}/${entry.id}`} className="link-block">
          Open in the spool
        </a>
      )}
      {kept && hasInbox && !isElsewhere && (
        <a href={`${INBOX}/${id}`} className="link-block">
          Open in the inbox
        </a>
      )}
      {receipt && (
        <a href={withQuery('/console/live-feed', { receipt: id })} className="link-block">
          Open the receipt
        </a>
      )}
    </>
  )
}

const COPY = ' A copy is kept.'

type Held = Pick<Context, 'paused' | 'upstreams'>
type SentenceProps = Held & Pick<Context, 'sentryHost'> & { finding: Finding }

function Sentence({ finding, sentryHost, ...held }: SentenceProps): ReactNode {
  const { state, entry, kept, finalOutcome, receipt } = finding
  const acceptor = sentryHost === undefined ? 'The inbox' : 'Sentry'
  if (entry?.state === 'pending') return <Pending entry={entry} {...held} />
  if (entry?.state === 'declined')
    return (
      <>
        Sentry declined it <Moment time={entry.ended ?? entry.received} />. {nameReason(entry)}
      </>
    )
  if (entry)
    return (
      <>
        {MEANINGS[entry.state === 'expired' ? 'expired' : 'evicted']} That was{' '}
        <Moment time={entry.ended ?? entry.received} />.
      </>
    )
  if (finalOutcome) {
    const { final_outcome: outcome, time, waited_ms: waitedMs } = finalOutcome
    return (
      <>
        {outcome === 'delivered' ? `${acceptor} accepted it` : `${MEANINGS[outcome]} That was`}{' '}
        <Moment time={time} />, after {formatDuration(waitedMs)} in the spool.{kept && COPY}
      </>
    )
  }
  if (state === 'delivered' && receipt)
    return (
      <>
        {acceptor} accepted it <Moment time={receipt.time} />.{kept && COPY}
      </>
    )
  if (state === 'declined' && receipt)
    return `Sentry declined it at once, with HTTP ${receipt.upstream_status ?? receipt.status}. Its sender has Sentry’s answer, and the store no longer has it.`
  if (kept && state === 'kept')
    return (
      <>
        {acceptor} accepted it <Moment time={kept.ended ?? kept.received} />, and a copy is kept.
      </>
    )
  if (state === 'lost-track')
    return 'It was stored in the spool, and is no longer there. Its final outcome is not in the receipts: the replica that delivered it has stopped, or has dropped old receipts.'
  const explanation = receipt && explain(receipt.outcome, receipt.reason)
  if (explanation)
    return (
      <>
        {explanation.sentence} <strong>{explanation.fix}</strong>
      </>
    )
  return receipt && MEANINGS[receipt.outcome]
}

function Pending({ entry, paused, upstreams }: Held & { entry: StoreEntry }) {
  const { received, resent } = entry
  return (
    <>
      Pending since <Moment time={resent ?? received} />
      {resent !== undefined && ', when it was sent again'}. Next attempt:{' '}
      <NextAttempt {...{ entry, paused, upstreams }} />.
    </>
  )
}

export function FindForm({ id }: { id: string }) {
  return (
    <search className="block">
      <form action={FIND} className="grid max-w-2xl grid-cols-[minmax(0,1fr)_auto] items-end gap-3 text-note">
        <label className="grid min-w-0 grid-cols-1 gap-1 text-quiet">
          Event ID, or ID of a receipt
          <input
            type="search"
            name="id"
            required
            maxLength={100}
            defaultValue={id}
            autoComplete="off"
            spellCheck={false}
            placeholder="fc6d8c0c43fc4630ad850ee518f1b9d0"
            className="min-h-11 w-full rounded-part border border-quiet/60 bg-surface px-2 font-mono text-note text-ink"
          />
        </label>
        <Button type="submit">Find</Button>
      </form>
    </search>
  )
}
