/** In place of the error lab where it is off. */

import { Card } from '../../ui/card.tsx'
import { Shell } from '../../ui/page-shell.tsx'

export default function LabIsOff() {
  return (
    <Shell at="lab">
      <title>Error lab · Culvert</title>
      <h1 className="text-hero">The error lab is off.</h1>
      <Card className="mt-8 max-w-2xl">
        <p>
          Here anyone could raise real errors, and each would count against this site’s Sentry plan. So it is
          closed while a Sentry is configured.
        </p>
        <p className="mt-4">
          If you run this site, set <code className="font-semibold">LAB=on</code> beside{' '}
          <code>SENTRY_DSN</code> and start it again. Its reports then carry <code>environment: lab</code>.
        </p>
      </Card>
    </Shell>
  )
}
