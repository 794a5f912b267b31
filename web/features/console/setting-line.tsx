/** Line that changes a setting, with its file and the command that applies it, which depend on how this Culvert was started. */

import { commandsOf, type Deployment } from 'contract/situation/deployments'
import { CodeBlock } from '../../ui/code-block.tsx'
import { isNamed, toYaml } from './env-line.ts'

type Props = {
  /** `NAME=value`, or DSNs for the file that SENTRY_DSN_FILE names. */
  line: string
  deployment: Deployment | undefined
  /** Names the line where a page has several. */
  label?: string
  /** Begin of the sentence. */
  aim?: string
  /** Words after the place: the line that this one replaces, or a condition. */
  detail?: string
}

export function SettingLine({ line, deployment, label, aim = '', detail = '' }: Props) {
  const { settings, secrets, apply } = commandsOf(deployment)
  const isForFile = !isNamed(line)
  const name = isForFile ? 'Line for SENTRY_DSN_FILE' : 'Line for the settings'
  const place = line.startsWith('SENTRY_DSN=') ? secrets : settings
  return (
    <div className="grid gap-2 text-note">
      <p>
        {aim ? `${aim}, put` : 'Put'} this line into{' '}
        {isForFile ? 'the file that SENTRY_DSN_FILE names' : place}
        {detail}, and {apply}:
      </p>
      <CodeBlock
        label={label === undefined ? name : `${name}: ${label}`}
        text={deployment === 'chart' ? toYaml(line) : line}
        copy="Copy the line"
      />
    </div>
  )
}
