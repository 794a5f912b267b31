/** Card of one cause of rejections. */

import type { OutcomeTime, RejectionSample, Rejections, SettingInForce } from 'contract/admin-api'
import { parseDsn } from 'contract/dsn'
import { UNAVAILABLE } from 'contract/rejections'
import type { Deployment } from 'contract/situation/deployments'
import { Fragment } from 'react'
import { formatQuantity } from '../../../lib/format.ts'
import { Fact, Facts } from '../../../ui/panel.tsx'
import { Ago } from '../../../ui/relative-time.tsx'
import { OutcomeBadge } from '../../../ui/status-badge.tsx'
import { cutText, TEXT } from '../bounds.ts'
import { headerOf } from '../env-line.ts'
import { MEANINGS } from '../outcomes.ts'
import { explain } from '../reasons.ts'
import { withQuery } from '../routes.ts'
import { isEnded, SPOOL } from '../spool/spool-query.ts'
import { RejectionRemedy } from './rejection-remedy.tsx'
import { causeKey, type RejectionCount } from './rejections.ts'

type Props = { rejection: RejectionCount; details: Rejections; deployment: Deployment | undefined }

/** Rejections with one outcome and reason: their meaning, the remedy, and the settings concerned. */
export function RejectionCard({ rejection, details, deployment }: Props) {
  const { stage, outcome, reason, count } = rejection
  const explained = explain(outcome, reason)
  const isRejected = outcome === 'rejected' || outcome === 'deferred'
  const sample = isRejected ? details.rejections.find(({ code }) => code === reason) : undefined
  const settings = details.settings[reason || outcome] ?? []
  return (
    <li className="panel">
      <div className="flex flex-wrap items-center gap-3">
        <OutcomeBadge outcome={outcome === 'rejected' && UNAVAILABLE.has(reason) ? 'lost' : outcome} />
        <h2 className="min-w-0 text-body font-semibold wrap-anywhere">
          {stage === 'waited' ? 'from the spool' : <code>{reason || 'no reason given'}</code>}
        </h2>
        <span className="ml-auto font-semibold tabular-nums">{formatQuantity(count, 'envelope')}</span>
      </div>
      <p className="mt-3 text-note">{explained?.sentence ?? MEANINGS[outcome]}</p>
      {explained && (
        <p className="mt-2 text-note">
          <strong>What to do:</strong> {explained.fix}
        </p>
      )}
      <Settings settings={settings} />
      <RejectionRemedy {...{ reason, sample, settings, deployment }} />
      <Since time={details.times.find((time) => causeKey(time) === causeKey(rejection))} />
      {sample && <Sample sample={sample} />}
      <a
        href={`/console/live-feed?${new URLSearchParams({ outcome, ...(reason && { reason }) })}`}
        className="link-block mt-3 text-note"
      >
        View in the live feed
      </a>
      {stage === 'waited' && isEnded(outcome) && (
        <a href={withQuery(SPOOL, { state: outcome })} className="link-block mt-3 ml-4 text-note">
          View in the spool
        </a>
      )}
    </li>
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

/** Last rejected request; the tunnel removed values that may be secret. */
function Sample({ sample }: { sample: RejectionSample }) {
  const { causes, request, headers, dsn, page } = sample
  const parsed = parseDsn(dsn ?? '')
  const origin = headerOf('origin', sample)
  return (
    <>
      <div className="mt-3">
        <Facts>
          {parsed && <Fact name="Host of the DSN">{parsed.host}</Fact>}
          {parsed && <Fact name="Project of the DSN">{parsed.projectId}</Fact>}
          {origin && <Fact name="Origin">{origin}</Fact>}
          {page && <Fact name="Page">{page}</Fact>}
        </Facts>
      </div>
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

const MAX_VALUE_LENGTH = 300 // characters

/** Value of a setting; collapsed when it is long, such as a list of a thousand DSNs. */
function Value({ value }: { value: string }) {
  if (value.length <= MAX_VALUE_LENGTH) return value
  return (
    <details>
      <summary className="min-h-6">{formatQuantity(value.split(/\s+/).length, 'value')}</summary>
      {value}
    </details>
  )
}
