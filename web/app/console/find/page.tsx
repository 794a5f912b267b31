/** Find: the outcome of one event. */

import { redirect } from 'next/navigation'
import { AutoRefresh } from '../../../features/console/auto-refresh.tsx'
import { ConsoleShell } from '../../../features/console/console-shell.tsx'
import { requireConsoleData } from '../../../features/console/data-access/data-access.ts'
import { FindForm, FindResult } from '../../../features/console/find/find-view.tsx'
import { readFindings } from '../../../features/console/find/findings.ts'
import { hasInbox } from '../../../features/console/monitor/snapshot.ts'
import { FIND, isReceiptId, type Query, readEventId, withQuery } from '../../../features/console/routes.ts'
import { Empty } from '../../../ui/panel.tsx'

export const metadata = { title: 'Find · Console' }

type Props = { searchParams: Promise<Query> }

export default async function FindPage({ searchParams }: Props) {
  const given = await searchParams
  const data = await requireConsoleData(withQuery(FIND, given))
  const text = typeof given.id === 'string' ? given.id.trim() : ''
  const id = readEventId(text)
  if (id === undefined && isReceiptId(text)) redirect(withQuery('/console/live-feed', { receipt: text }))
  return (
    <ConsoleShell at="find" title="Did my user’s report arrive?">
      <div className="grid grid-cols-1 gap-4">
        <FindForm id={id ?? text} />
        {text === '' && (
          <Empty>
            The ID is that of <code>Sentry.lastEventId()</code>, of the report dialog, of an error page or of
            Sentry’s issue. All replicas and their stores are asked.
          </Empty>
        )}
        {text !== '' && id === undefined && (
          <p role="status" className="max-w-prose text-note">
            An event ID has 32 hexadecimal digits, with or without dashes. The live feed finds other texts in
            recent receipts.
          </p>
        )}
        {id !== undefined && <Answer id={id} data={data} />}
      </div>
    </ConsoleShell>
  )
}

type AnswerProps = { id: string; data: Awaited<ReturnType<typeof requireConsoleData>> }

async function Answer({ id, data }: AnswerProps) {
  const [answers, snapshot, { settings }] = await Promise.all([
    data.spool.findEvent(id),
    data.snapshot(),
    data.rejections(),
  ])
  const found = readFindings(answers)
  return (
    <>
      {found.findings.some(({ state }) => state === 'pending') && <AutoRefresh />}
      <FindResult
        found={found}
        settings={settings}
        deployment={snapshot.situation.deployment}
        hasInbox={hasInbox(snapshot)}
        sentryHost={data.settings.sentryHost}
        store={snapshot.spool?.id}
        paused={snapshot.spool?.paused}
        upstreams={snapshot.upstreams}
      />
    </>
  )
}
