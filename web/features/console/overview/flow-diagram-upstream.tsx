/** Branch of the flow diagram for one Sentry server, or for several together: rate, response times and problems. */

import type { LastUpstreamError } from 'contract/upstream'
import { formatCount, formatDuration } from '../../../lib/format.ts'
import { useNow } from '../../../lib/use-now.ts'
import { StateMark } from '../../../ui/status-badge.tsx'
import type { Listed } from '../bounds.ts'
import { percentilesOf } from '../figures/figure-sums.ts'
import type { Flow, UpstreamSummary } from '../monitor/snapshot.ts'
import { OTHERS } from '../monitor/upstreams.ts'
import { countUpstreamErrors, describeUpstreamError } from '../upstream-errors.ts'
import { Edge, type FormatRate, OutcomeRate, Slowest, Stop } from './flow-diagram-parts.tsx'

type Props = { upstream: UpstreamSummary; flow: Flow | undefined; format: FormatRate }

export function UpstreamBranch({ upstream: { name, hosts, open, limited, error }, flow, format }: Props) {
  const count = flow && (flow.total.upstreams[name]?.delivered ?? 0)
  const recent = flow?.now.counts.upstreams[name]
  const rate = flow && (recent?.delivered ?? 0) / flow.now.seconds
  const durations = name === OTHERS ? {} : percentilesOf(recent?.durations ?? {}) // only of a single server
  return (
    <>
      <Edge
        isFork
        rate={rate}
        tone="text-good"
        above={<OutcomeRate outcome="delivered" {...{ rate, count, format }} />}
      >
        {durations.p50 !== undefined && (
          <span className="whitespace-nowrap">p50 {formatDuration(durations.p50 * 1000)}</span>
        )}{' '}
        <Slowest durations={durations} />
      </Edge>
      <Stop>
        <strong>{name === OTHERS ? `${formatCount(hosts)} more Sentry servers` : 'Sentry'}</strong>
        <ul className="text-note">
          {name !== OTHERS && open.total === 0 && <Host name={name} />}
          <OpenBreakers open={open} />
          {error && <ErrorLine host={name} error={error} />}
          {limited > 0 && (
            <li className="flex items-center gap-1.5">
              <StateMark state="hold" className="size-3.5" />
              <a href="#limits" className="link inline-flex min-h-6 items-center">
                {formatCount(limited)} {limited === 1 ? 'category' : 'categories'} rate-limited
              </a>
            </li>
          )}
        </ul>
      </Stop>
    </>
  )
}

function ErrorLine({ host, error }: { host: string; error: LastUpstreamError }) {
  const isInBrowser = useNow() !== undefined // the server does not know the reader's time zone
  const describe = isInBrowser ? countUpstreamErrors : describeUpstreamError
  return <li className="wrap-anywhere text-bad">{describe(host, error)}</li>
}

const MAX_HOSTS = 4

function OpenBreakers({ open: { shown, total } }: { open: Listed<string> }) {
  if (total > MAX_HOSTS)
    return <Host name={formatCount(total)} problem="circuit breakers open: they fail or are slow" />
  return shown.map((host) => (
    <Host key={host} name={host} problem="circuit breaker open: it fails or is slow" />
  ))
}

function Host({ name, problem }: { name: string; problem?: string }) {
  return (
    <li className="flex items-start gap-1.5">
      <StateMark state={problem ? 'bad' : 'good'} className="mt-1 size-3.5" />
      <span className="min-w-0 wrap-anywhere">
        {name}
        {problem && <span className="text-bad"> {problem}</span>}
      </span>
    </li>
  )
}
