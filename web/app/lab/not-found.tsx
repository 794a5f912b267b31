/** Page shown instead of the error lab when the lab is off. */

import { Shell } from '../../ui/page-shell.tsx'

export default function LabIsOff() {
  return (
    <Shell at="lab">
      <title>Error lab · Culvert</title>
      <h1 className="text-hero">The error lab is off.</h1>
      <section className="card mt-8 max-w-2xl">
        <p>
          Anyone can trigger real errors in the lab, and each counts against this site’s Sentry quota. The lab
          is therefore off while a Sentry DSN is configured.
        </p>
        <p className="mt-4">
          If you run this site, set <code className="font-semibold">LAB=on</code> beside{' '}
          <code>SENTRY_DSN</code> and restart it. Reports from the lab carry <code>environment: lab</code>.
        </p>
      </section>
    </Shell>
  )
}
