/** Line for `.env` with which Culvert would accept rejected envelopes. */

import { CodeBlock } from '../../../ui/code-block.tsx'
import { envLine, type Rejected } from '../env-line.ts'

/** Renders nothing when no line can be named. A setting that was read from a file gets the text for this file. */
export function RejectionRemedy(rejected: Rejected) {
  const { reason, settings } = rejected
  const line = envLine(rejected)
  if (!line) return null
  const file = settings.find((setting) => setting.file_variable)?.file_variable
  return (
    <div className="mt-3 text-note">
      <p className="mb-2">
        To accept such envelopes, put this{' '}
        {file ? (
          <>
            into the file that <code>{file}</code> names
          </>
        ) : (
          <>
            line into <code>.env</code>
          </>
        )}{' '}
        and start Culvert again{NEEDS_TRUST[reason]}:
      </p>
      <CodeBlock label={`Line for ${file ?? '.env'}: ${reason}`} text={line} copy="Copy the line" />
    </div>
  )
}

/** Conditions of settings that let others send envelopes, or choose a host that receives them. */
const NEEDS_TRUST: Readonly<Record<string, string>> = {
  'dsn-unknown': ', if this DSN is yours',
  'origin-foreign': ', if this origin is yours',
}
