/** Error lab: triggers real errors of each kind that is reported, and shows their outcomes. */

import type { Metadata } from 'next'
import { notFound } from 'next/navigation'
import { connection } from 'next/server'
import { canSimulateOutage, issuePass } from '../../features/lab/access.ts'
import { Lab } from '../../features/lab/lab.tsx'
import { PrivacyNote, ReachTest } from '../../features/visitor-privacy.tsx'
import { config } from '../../lib/config.ts'
import { Shell } from '../../ui/page-shell.tsx'

export const metadata: Metadata = { title: 'Error lab' }

export default async function LabPage() {
  await connection()
  const settings = config()
  const { lab, sentryHost } = settings
  if (!lab) notFound()
  return (
    <Shell at="lab">
      <header className="max-w-3xl">
        <h1 className="text-hero">Error lab: trigger test errors</h1>
        <p className="mt-5 text-lead text-quiet">
          Each button triggers one kind of real error or report. The outcome appears beside the button.{' '}
          {sentryHost ? 'Reports arrive in Sentry' : 'Reports arrive in this site’s inbox'} with{' '}
          <code className="text-ink">environment: lab</code>, except those of the browser itself.
        </p>
      </header>
      <PrivacyNote />
      <noscript>
        <p className="mt-8 rounded-card border border-line bg-surface p-5">
          The error lab needs JavaScript, which is off in this browser. Its buttons do nothing, and nothing is
          reported.
        </p>
      </noscript>
      <Lab pass={issuePass()} hasOutage={canSimulateOutage(settings)} />
      <ReachTest />
    </Shell>
  )
}
