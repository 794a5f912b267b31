/** Button for an action on spool entries. */

import { ConfirmButton } from '../../../ui/confirm-button.tsx'

export const SPOOL_ACTIONS = ['retry', 'pause', 'resume', 'purge', 'resend', 'stop'] as const

export type SpoolActionName = (typeof SPOOL_ACTIONS)[number]

/**
 * Result of an action; `unanswered`: it may or may not have been done; `other-store`: not done, since the tunnels use another store than the
 * page showed; `not-resent` and `not-stopped`: the store has refused it. `left`: entries that it did not reach.
 */
export type SpoolActionResult =
  | { did: SpoolActionName; count: number; left: number }
  | { did: 'failed' | 'unanswered' | 'other-store' | 'not-resent' | 'not-stopped' }

type Props = {
  /** ID of the store that the page shows. */
  spool: string
  action: ConfirmedAction
  /** Default: the whole spool. */
  selection?: Partial<Record<'id' | 'project' | 'category' | 'state' | 'from' | 'to' | 'all', string>>
  label: string
  /** Names the scope of the action, for the confirmation. */
  scope: string
  weight?: 'quiet' | 'light'
}

/** A stopped resend can be started again, so that no question is asked. */
type ConfirmedAction = Exclude<SpoolActionName, 'stop'>

const QUESTIONS: Record<ConfirmedAction, (scope: string) => string> = {
  retry: (scope) => `Retry ${scope} now?`,
  pause: (scope) => `Pause delivery of ${scope}?`,
  resume: (scope) => `Resume delivery of ${scope}?`,
  resend: (scope) => `Send ${scope} again?`,
  purge: (scope) => `Purge ${scope}? Purged envelopes are deleted and never reach Sentry.`,
}

export function SpoolAction({ spool, action, selection = {}, scope, ...button }: Props) {
  return (
    <ConfirmButton
      action="/console/spool/act"
      fields={{ spool, action, ...selection }}
      question={QUESTIONS[action](scope)}
      isFinal={action === 'purge'}
      {...button}
    />
  )
}
