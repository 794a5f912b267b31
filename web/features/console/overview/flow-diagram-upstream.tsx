/** Branch of the flow diagram for one Sentry server, or for several together: rate, response times and problems. */

import { formatCount, formatDuration } from '../../../lib/format.ts'
import { StateMark } from '../../../ui/status-badge.tsx'
import { rateNow } from '../monitor/rates.ts'
import type { Point } from '../monitor/replica-monitor.ts'
import type { Few, UpstreamSummary } from '../monitor/snapshot.ts'
import { OTHERS } from '../monitor/upstreams.ts'
import { Edge, type FormatRate, OutcomeRate, Stop } from './flow-diagram-parts.tsx'

type UpstreamProps = { way: UpstreamSummary; points: Point[]; format: FormatRate }

export function UpstreamStop({ way: { name, hosts, open, held }, points, format }: UpstreamProps) {
  const rate = rateNow(points, ({ upstreams }) => upstreams[name]?.delivered ?? 0)
  const took = points.slice(-8).findLast(({ upstreams }) => upstreams[name]?.p50 !== undefined)?.upstreams[
    name
  ]
  return (
    <>
      <Edge
        isFork
        rate={rate}
        tone="text-good"
        above={<OutcomeRate outcome="delivered" rate={rate} format={format} />}
      >
        {took?.p50 !== undefined && (
          <>
            <span className="whitespace-nowrap">p50 {formatDuration(took.p50 * 1000)}</span>
            {took.p95 !== undefined && (
              <>
                {' '}
                · <span className="whitespace-nowrap">p95 {formatDuration(took.p95 * 1000)}</span>
              </>
            )}
          </>
        )}
      </Edge>
      <Stop>
        <strong>{name === OTHERS ? `${formatCount(hosts)} more Sentry servers` : 'Sentry'}</strong>
        <ul className="text-note">
          {name !== OTHERS && open.all === 0 && <HostLine host={name} />}
          <NotAskedLines open={open} />
          {held > 0 && (
            <li className="flex items-center gap-1.5">
              <StateMark state="hold" className="size-3.5" />
              <a href="#held-back" className="link">
                {formatCount(held)} {held === 1 ? 'category' : 'categories'} rate-limited
              </a>
            </li>
          )}
        </ul>
      </Stop>
    </>
  )
}

function NotAskedLines({ open: { first, all } }: { open: Few<string> }) {
  if (all <= MOST_HOSTS)
    return first.map((host) => (
      <HostLine key={host} host={host} trouble="circuit breaker open: it fails or is slow" />
    ))
  return <HostLine host={formatCount(all)} trouble="circuit breakers open: they fail or are slow" />
}

const MOST_HOSTS = 4

function HostLine({ host, trouble }: { host: string; trouble?: string }) {
  return (
    <li className="flex items-center gap-1.5">
      <StateMark state={trouble ? 'bad' : 'good'} className="size-3.5" />
      <span className="min-w-0 wrap-anywhere">
        {host}
        {trouble && <span className="text-bad"> {trouble}</span>}
      </span>
    </li>
  )
}
