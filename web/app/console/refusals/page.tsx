/** What was refused, why, and what would have let it pass. */

import type { RefusalSample } from 'tunnel/contract'
import { consoleFor } from '../../../lib/console/console.ts'
import { explain, MEANINGS } from '../../../lib/console/fates.ts'
import { refusalsIn } from '../../../lib/console/refused.ts'
import { sayCount } from '../../../lib/console/words.ts'
import { Ago } from '../../../ui/console/ago.tsx'
import { Empty } from '../../../ui/console/panel.tsx'
import { ConsoleShell } from '../../../ui/console/shell.tsx'
import { FateBadge } from '../../../ui/fate.tsx'

export const metadata = { title: 'Refusals · Console' }

export default async function RefusalsPage() {
  const door = await consoleFor('/console/refusals')
  const [{ totals, replicas }, samples] = await Promise.all([door.look(), door.samples()])
  const refusals = refusalsIn(totals)
  const since = Math.min(...replicas.flatMap(({ status }) => status?.since ?? []))
  return (
    <ConsoleShell at="refusals" title="Refusals">
      <p className="mb-4 max-w-prose text-note text-quiet">
        All that did not go through as it came
        {Number.isFinite(since) && (
          <>
            , since the first of the replicas started, <Ago time={since} />
          </>
        )}
        . What nginx refuses by itself, too large a body for one, reaches no tunnel: its log has it.
      </p>
      {refusals.length === 0 && <Empty>Nothing was refused. Whatever came was accepted.</Empty>}
      <ul className="grid grid-cols-1 gap-4 desk:grid-cols-2">
        {refusals.map(({ answer, reason, count, projects }) => {
          const explained = explain(reason)
          const sample = answer === 'refused' ? samples.find(({ code }) => code === reason) : undefined
          return (
            <li
              key={`${answer} ${reason}`}
              className="min-w-0 rounded-card border border-line bg-surface p-4 wide:p-5"
            >
              <div className="flex flex-wrap items-center gap-3">
                <FateBadge fate={answer} />
                <h2 className="min-w-0 text-body font-semibold wrap-anywhere">
                  <code>{reason || 'no reason given'}</code>
                </h2>
                <span className="ml-auto font-mono tabular-nums">{sayCount(count)}</span>
              </div>
              <p className="mt-3">{explained?.sentence ?? MEANINGS[answer]}</p>
              {explained && (
                <p className="mt-2">
                  <strong>What to do:</strong> {explained.fix}
                </p>
              )}
              <Settings fix={explained?.fix ?? ''} />
              {sample && <Sample sample={sample} />}
              {projects.length > 0 && (
                <p className="mt-2 text-note text-quiet wrap-anywhere">of {projects.join(', ')}</p>
              )}
              <a
                href={`/console/feed?${new URLSearchParams({ fate: answer, ...(reason && { reason }) })}`}
                className="link mt-3 inline-flex min-h-11 items-center text-note"
              >
                See them in the feed
              </a>
            </li>
          )
        })}
      </ul>
    </ConsoleShell>
  )
}

/** A request that was refused so; values that may be somebody's secret never left the tunnel. */
function Sample({ sample: { first, last, causes, request, headers } }: { sample: RefusalSample }) {
  return (
    <>
      <p className="mt-2 text-note text-quiet">
        First <Ago time={first} />, last <Ago time={last} />.
      </p>
      {causes.length > 0 && <p className="mt-1 text-note wrap-anywhere">{causes.join(' ')}</p>}
      <details className="mt-2 text-note">
        <summary className="min-h-8">The last such request</summary>
        <pre className="my-2 rounded-part bg-sunken p-3 font-mono whitespace-pre-wrap wrap-anywhere">
          {[request, ...headers.map(([name, value]) => `${name}: ${value ?? '(left out)'}`)].join('\n')}
        </pre>
      </details>
    </>
  )
}

/** The settings that a remedy names. */
function Settings({ fix }: { fix: string }) {
  const names = [...new Set(fix.match(/\b[A-Z]{3,}(?:_[A-Z]+)+\b/g))]
  if (names.length === 0) return null
  return (
    <p className="mt-2 text-note">
      {names.length === 1 ? 'The setting: ' : 'The settings: '}
      {names.map((name) => (
        <code key={name} className="mr-2 rounded-part bg-sunken px-1.5 py-0.5">
          {name}
        </code>
      ))}
    </p>
  )
}
