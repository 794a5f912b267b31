/** Line of a setting that would accept rejected envelopes. */

import type { Deployment } from 'contract/situation/deployments'
import { envLine, type Rejected } from '../env-line.ts'
import { SettingLine } from '../setting-line.tsx'

/** Renders nothing when no line can be named. */
export function RejectionRemedy({
  deployment,
  ...rejected
}: Rejected & { deployment: Deployment | undefined }) {
  const { reason } = rejected
  const line = envLine(rejected)
  if (!line) return null
  return (
    <div className="mt-3">
      <SettingLine
        {...{ line, deployment }}
        aim="To accept such envelopes"
        label={reason}
        detail={NEEDS_TRUST[reason] ?? ''}
      />
    </div>
  )
}

/** Conditions of settings that let others send envelopes, or choose a host that receives them. */
const NEEDS_TRUST: Readonly<Record<string, string>> = {
  'dsn-unknown': ', if this DSN is yours',
  'origin-foreign': ', if this origin is yours',
}
