/** Set-up of a site in three steps. It writes nothing: it shows the lines to copy. */
'use client'

import type { Rejections } from 'contract/admin-api'
import type { Deployment } from 'contract/situation/deployments'
import { type ReactNode, useState } from 'react'
import type { DsnPlace } from '../../../lib/config.ts'
import { CodeBlock } from '../../../ui/code-block.tsx'
import { Empty, Panel } from '../../../ui/panel.tsx'
import { FRAMEWORKS, type Target } from '../projects/snippets.ts'
import { SettingLine } from '../setting-line.tsx'
import { ArrivalPanel } from './arrival-panel.tsx'
import { type Compression, type Destination, describeCompression, readDestination } from './destination.ts'

type Props = {
  /** DSNs of the projects that Culvert forwards to, or that of the inbox; absent while no tunnel responds. */
  configured: readonly string[] | undefined
  /** DSN of web's own browser SDK. */
  ownDsn: string
  dsnPlace: DsnPlace
  tunnelPath: string
  hasInbox: boolean
  hasSentry: boolean
  /** Time of the page, in milliseconds since 1970. */
  since: number
  compressions: readonly Compression[]
  /** Last rejected requests, and the settings that reject them. */
  rejections: Pick<Rejections, 'rejections' | 'settings'>
  deployment: Deployment | undefined
}

type Kind = 'inbox' | 'sentry'

export function Setup(props: Props) {
  const { configured, ownDsn, dsnPlace, tunnelPath, hasInbox, hasSentry } = props
  const { since, compressions, rejections, deployment } = props
  const [kind, setKind] = useState<Kind>(hasSentry ? 'sentry' : 'inbox')
  const [text, setText] = useState(hasSentry ? ownDsn : '')
  const { destination, problem } = readDestination(kind, text, { configured, dsnPlace })
  return (
    <div className="grid grid-cols-1 gap-4 noscript:hidden desk:grid-cols-[minmax(0,3fr)_minmax(0,2fr)] desk:items-start">
      <div className="grid grid-cols-1 gap-4">
        <Panel title="1. Choose where reports go">
          <fieldset className="grid gap-1">
            <legend className="sr-only">Destination of reports</legend>
            <Choice name="kind" isChosen={kind === 'inbox'} onChoose={() => setKind('inbox')}>
              To the inbox of this console: no Sentry account is needed
            </Choice>
            <Choice name="kind" isChosen={kind === 'sentry'} onChoose={() => setKind('sentry')}>
              To a project of Sentry
            </Choice>
          </fieldset>
          {kind === 'sentry' && <DsnField {...{ text, problem }} onChange={setText} />}
          {destination && <EnvLines {...{ destination, dsnPlace, deployment }} />}
        </Panel>
        {destination && <Snippets target={{ dsn: destination.dsn, tunnelPath }} />}
      </div>
      {destination ? (
        <div className="desk:sticky desk:top-4">
          <ArrivalPanel
            key={destination.project}
            project={destination.project}
            {...{ since, hasInbox, rejections, deployment }}
          />
          <CompressionNote text={describeCompression(compressions, destination.project)} />
        </div>
      ) : (
        <Empty>Paste a DSN to see the code for your site.</Empty>
      )}
    </div>
  )
}

function CompressionNote({ text }: { text: string | undefined }) {
  return text === undefined ? null : <p className="mt-3 text-note text-quiet">{text}</p>
}

type ChoiceProps = { name: string; isChosen: boolean; onChoose: () => void; children: ReactNode }

function Choice({ name, isChosen, onChoose, children }: ChoiceProps) {
  return (
    <label className="flex min-h-8 cursor-pointer items-center gap-2">
      <input
        type="radio"
        name={name}
        checked={isChosen}
        onChange={onChoose}
        className="size-4 shrink-0 accent-accent"
      />
      <span>{children}</span>
    </label>
  )
}

type DsnFieldProps = { text: string; problem: string | undefined; onChange: (text: string) => void }

function DsnField({ text, problem, onChange }: DsnFieldProps) {
  return (
    <div className="mt-3 grid gap-2">
      <label className="grid gap-1 text-note text-quiet">
        DSN, as Sentry shows it in the settings of the project under Client Keys
        <input
          type="url"
          value={text}
          onChange={(event) => onChange(event.target.value)}
          placeholder="https://key@o1.ingest.us.sentry.io/2"
          spellCheck={false}
          autoComplete="off"
          aria-invalid={problem ? true : undefined}
          aria-describedby="dsn-problem"
          className="min-h-11 w-full rounded-part border border-quiet bg-ground px-3 font-mono text-note text-ink"
        />
      </label>
      <p id="dsn-problem" role="status" className="text-note text-bad wrap-anywhere">
        {problem}
      </p>
    </div>
  )
}

type EnvProps = Pick<Props, 'dsnPlace' | 'deployment'> & { destination: Destination }

function EnvLines({ destination, dsnPlace, deployment }: EnvProps) {
  const { lines } = destination
  if (lines === undefined)
    return (
      <p role="status" className="mt-3 text-note">
        No tunnel responds, so the DSNs in force are not known. The line that sets them appears when one does:
        a line with this DSN alone would remove them.
      </p>
    )
  if (lines === '')
    return (
      <p className="mt-3 text-note text-quiet">Culvert is configured for this already: go on with step 2.</p>
    )
  const replaced = lines.includes('=')
    ? `an older ${dsnPlace === '.env' ? 'SENTRY_DSN' : dsnPlace}`
    : 'its content'
  return (
    <div className="mt-4">
      <SettingLine line={lines} deployment={deployment} detail={`, in place of ${replaced}`} />
    </div>
  )
}

function Snippets({ target }: { target: Target }) {
  const [id, setId] = useState(FRAMEWORKS[0]?.id)
  const framework = FRAMEWORKS.find((each) => each.id === id)
  return (
    <Panel title="2. Add Culvert to your site">
      <fieldset className="grid grid-cols-1 gap-x-4 wide:grid-cols-3">
        <legend className="sr-only">Framework</legend>
        {FRAMEWORKS.map((each) => (
          <Choice key={each.id} name="framework" isChosen={each.id === id} onChoose={() => setId(each.id)}>
            {each.name}
          </Choice>
        ))}
      </fieldset>
      <ol className="mt-4 grid grid-cols-1 gap-5 text-note">
        {framework?.steps(target).map(({ text, label, code }) => (
          <li key={label} className="min-w-0">
            <p className="mb-2 wrap-anywhere">
              <strong className="font-mono font-semibold">{label}</strong>: {text}
            </p>
            <CodeBlock label={label} text={code} copy={`Copy ${label}`} />
          </li>
        ))}
      </ol>
    </Panel>
  )
}
