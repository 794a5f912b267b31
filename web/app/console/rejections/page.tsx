/** Rejections: envelopes that were not delivered, by reason. */

import { AutoRefresh } from '../../../features/console/auto-refresh.tsx'
import { ConsoleShell } from '../../../features/console/console-shell.tsx'
import { requireConsoleData } from '../../../features/console/data-access/data-access.ts'
import { NoReplica } from '../../../features/console/notices.tsx'
import { RejectionCard } from '../../../features/console/rejections/rejection-card.tsx'
import { causeKey, countRejections } from '../../../features/console/rejections/rejections.ts'
import { Empty } from '../../../ui/panel.tsx'
import { Ago } from '../../../ui/relative-time.tsx'

export const metadata = { title: 'Rejections · Console' }

export default async function RejectionsPage() {
  const data = await requireConsoleData('/console/rejections')
  const [{ totals, replicas }, details] = await Promise.all([data.snapshot(), data.rejections()])
  const rejections = countRejections(totals)
  const since = Math.min(...replicas.flatMap(({ status }) => status?.since ?? []))
  const isKnown = Number.isFinite(since)
  return (
    <ConsoleShell at="rejections" title="Rejections">
      <AutoRefresh />
      <p className="mb-4 max-w-prose text-note text-quiet">
        Envelopes that were rejected, filtered, rate-limited, declined, aborted or lost from the spool
        {isKnown && (
          <>
            {' '}
            since the first replica started, <Ago time={since} />
          </>
        )}
        . Requests that nginx rejects, such as bodies that are too large, do not reach a replica: see nginx’s
        log.
      </p>
      {rejections.length === 0 &&
        (isKnown ? (
          <Empty>No rejections: every envelope was accepted. There is nothing to do.</Empty>
        ) : (
          <NoReplica />
        ))}
      <ul className="grid grid-cols-1 gap-4 desk:grid-cols-2 desk:items-start">
        {rejections.map((rejection) => (
          <RejectionCard key={causeKey(rejection)} rejection={rejection} details={details} />
        ))}
      </ul>
    </ConsoleShell>
  )
}
