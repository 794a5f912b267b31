/** Reason why the console has no inbox to show. */

import { formatCount, formatQuantity } from '../../../../lib/format.ts'
import { Empty } from '../../../../ui/panel.tsx'
import { INBOX } from './query.ts'

/** No replica responded with an inbox. `failed` of the `replicas` did not respond, or failed; the others have none. */
export type NoInbox = { groups: undefined; replicas: number; failed: number }

export function NoInboxReason({ replicas, failed }: Omit<NoInbox, 'groups'>) {
  if (replicas === 0)
    return (
      <Empty>
        No replica that could return this page is running. See <Replicas />, or{' '}
        <a href={INBOX} className="link">
          load the newest envelopes
        </a>
        .
      </Empty>
    )
  if (failed > 0)
    return (
      <Empty>
        No inbox has responded: {formatCount(failed)} of {formatQuantity(replicas, 'replica')} did not
        respond. Load the page again; if this persists, see <Replicas />.
      </Empty>
    )
  return (
    <Empty>
      The inbox is off: no replica has one. It is on when SENTRY_DSN is not set; with SENTRY_DSN, INBOX=on
      turns it on.
    </Empty>
  )
}

function Replicas() {
  return (
    <a href="/console/replicas" className="link">
      Replicas
    </a>
  )
}
