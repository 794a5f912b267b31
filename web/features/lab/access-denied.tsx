/** Page of the lab for a request without a valid pass. */

import { Card } from '../../ui/card.tsx'
import { Shell } from '../../ui/page-shell.tsx'

export function AccessDenied({ why }: { why: string }) {
  return (
    <Shell at="lab">
      <Card data-rejection={why} className="max-w-2xl">
        <h1 className="text-title">No error was triggered.</h1>
        <p className="mt-2 text-quiet">
          This address works once, and only from a button of the{' '}
          <a href="/lab" className="link">
            error lab
          </a>
          .
        </p>
      </Card>
    </Shell>
  )
}
