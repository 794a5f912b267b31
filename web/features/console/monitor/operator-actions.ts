/** Changes by operators in words. */

import type { OperatorAction } from 'contract/admin-api'
import { formatQuantity } from '../../../lib/format.ts'
import { categoryLabel } from '../outcomes.ts'

const VERBS: Record<OperatorAction['action'], string> = {
  'spool-retry': 'retried',
  'spool-purge': 'purged',
  'spool-pause': 'paused delivery',
  'spool-resume': 'resumed delivery',
  'store-resend': 'sent again',
  'store-purge': 'purged',
  'store-stop': 'stopped sending again',
  'inbox-delete': 'deleted',
}

function placeOf({ action, project }: OperatorAction): string {
  if (action === 'inbox-delete') return ' from the inbox'
  return ` of ${project ?? 'all projects'}`
}

/** Returns a sentence without a full stop: the operator, the change, and its scope. */
export function describeAction(action: OperatorAction): string {
  const { operator, client_address: client, envelopes, category } = action
  const who = operator ? `Operator ${operator}` : `Admin API client ${client ?? 'of unknown address'}`
  const count = envelopes === undefined ? '' : ` ${formatQuantity(envelopes, 'envelope')}`
  const place = placeOf(action)
  const kind = category === undefined ? '' : `, ${categoryLabel(category)}`
  return `${who} ${VERBS[action.action]}${count}${place}${kind}`
}
