/** Branch of the flow diagram for one Sentry server, or for several together: rate, response times and problems. */

import type { LastUpstreamError } from 'contract/upstream'
import { formatCount, formatDuration } from '../../../lib/format.ts'
import { useNow } from '../../../lib/use-now.ts'
import { StateMark } from '../../../ui/status-badge.tsx'
import type { Listed } from '../bounds.ts'
import { rateNow } from '../monitor/rates.ts'
import type { Point } from '../monitor/replica-monitor.ts'
import type { UpstreamSummary } from '../monitor/snapshot.ts'
import { OTHERS } from '../monitor/upstreams.ts'
import { countUpstreamErrors, describeUpstreamError } from '../upstream-errors.ts'
import { Edge, type FormatRate, OutcomeRate, Slowest, Stop } from './flow-diagram-parts.tsx'

type Props = { upstream: UpstreamSummary; points: Point[]; format: FormatRate }

export function UpstreamBranch({ upstream: { name, hosts, open, limited, error }, points, format }: Props) {
  const deliveredAt = ({ upstreams }: Point) => upstreams[name]?.delivered ?? 0
  const rate = rateNow(points, deliveredAt)
  const last = points.at(-1)
  const recent = points.slice(-8).map(({ upstreams }) => upstreams[name])
  const timed = recent.findLast((point) => point?.p50 !== undefined)
  const p50 = timed?.p50
  return (
    <>
      <Edge
        isFork
        rate={rate}
        tone="text-good"
        above={<OutcomeRate outcome="delivered" {...{ rate, format }} count={last ? deliveredAt(last) : 0} />}
      >
        {p50 !== undefined && <span className="whitespace-nowrap">p50 {formatDuration(p50 * 1000)}</span>}{' '}
        <Slowest point={timed} />
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
