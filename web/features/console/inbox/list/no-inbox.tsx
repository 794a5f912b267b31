/** Reason why the console has no inbox to show. */

import { formatCount, formatQuantity } from '../../../../lib/format.ts'
import { Empty } from '../../../../ui/panel.tsx'
import { INBOX } from './query.ts'

/** No replica responded with an inbox. `failed` of the `replicas` did not respond, or failed; the others have none. */
export type NoInbox = { groups: undefined; replicas: number; failed: number }

type Props = Omit<NoInbox, 'groups'> & { isFirstPage: boolean }

export function NoInboxReason({ replicas, failed, isFirstPage }: Props) {
  if (replicas === 0 && isFirstPage)
    return (
      <Empty>
        No replica is running. See <Replicas />.
      </Empty>
    )
  if (replicas === 0)
    return (
      <Empty>
        The replicas that could return this page have stopped. See <Replicas />, or{' '}
        <a href={INBOX} className="link">
          load the newest envelopes
        </a>
        .
      </Empty>
    )
  if (failed > 0)
    return (
      <Empty>
        No inbox has responded: {formatCount(failed)} of {formatQuantity(replicas, 'replica')} did not respond
        or failed. Load the page again; if this persists, see <Replicas />.
      </Empty>
    )
  return (
    <Empty>
      The inbox is off: no running replica has one. It is on when SENTRY_DSN is not set; with SENTRY_DSN,
      KEEP_HOURS above 0 turns it on.
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
