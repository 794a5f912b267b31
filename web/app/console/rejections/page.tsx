/** Rejections: envelopes that were not delivered, by reason. */

import { sumFigures } from 'contract/figures'
import { AutoRefresh } from '../../../features/console/auto-refresh.tsx'
import { ConsoleShell } from '../../../features/console/console-shell.tsx'
import { requireConsoleData } from '../../../features/console/data-access/data-access.ts'
import { WEEK } from '../../../features/console/figures/range.ts'
import { RejectionCard } from '../../../features/console/rejections/rejection-card.tsx'
import { causeKey, countRejections } from '../../../features/console/rejections/rejections.ts'
import { Empty } from '../../../ui/panel.tsx'

export const metadata = { title: 'Rejections · Console' }

export default async function RejectionsPage() {
  const data = await requireConsoleData('/console/rejections')
  const [{ figures, missing }, details, { situation }] = await Promise.all([
    data.figures(WEEK),
    data.rejections(),
    data.snapshot(),
  ])
  const rejections = figures && countRejections(sumFigures(figures.points))
  return (
    <ConsoleShell at="rejections" title="Rejections">
      <AutoRefresh />
      <p className="mb-4 max-w-prose text-note text-quiet">
        Envelopes that were rejected, filtered, rate-limited, declined, aborted or lost from the spool in the
        last {WEEK.words}. Requests that nginx rejects, such as bodies that are too large, do not reach a
        replica: see nginx’s log.
      </p>
      {missing !== undefined && (
        <p role="status" className="mb-4 max-w-prose text-note wrap-anywhere">
          {missing}
        </p>
      )}
      {Object.keys(details.settings).length === 0 && (
        <p role="status" className="mb-4 max-w-prose text-note">
          No tunnel responds with its settings, so lines that change them are not shown.
        </p>
      )}
      {rejections?.length === 0 && missing === undefined && (
        <Empty>No rejections: every envelope was accepted. There is nothing to do.</Empty>
      )}
      <ul className="grid grid-cols-1 gap-4 desk:grid-cols-2 desk:items-start">
        {rejections?.map((rejection) => (
          <RejectionCard
            key={causeKey(rejection)}
            {...{ rejection, details }}
            deployment={situation.deployment}
          />
        ))}
      </ul>
    </ConsoleShell>
  )
}
