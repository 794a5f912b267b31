/** Each project that is carried for: what came of it, and how to send to it. */

import { formatDsn, parseDsn, tunnelUrl } from 'tunnel/dsn'
import { consoleFor } from '../../../lib/console/console.ts'
import { ANSWERS } from '../../../lib/console/fates.ts'
import type { Snapshot } from '../../../lib/console/watch.ts'
import { sayBytes, sayCount } from '../../../lib/console/words.ts'
import { CodeBlock } from '../../../ui/code-block.tsx'
import { In } from '../../../ui/console/ago.tsx'
import { Empty, Panel } from '../../../ui/console/panel.tsx'
import { ConsoleShell } from '../../../ui/console/shell.tsx'
import { FateBadge } from '../../../ui/fate.tsx'
import { Badge } from '../../../ui/state.tsx'

export const metadata = { title: 'Projects · Console' }

export default async function ProjectsPage() {
  const door = await consoleFor('/console/projects')
  const snapshot = await door.look()
  const dsns = dsnsOf(snapshot)
  return (
    <ConsoleShell at="projects" title="Projects">
      {snapshot.projects.length === 0 && <Empty>No replica answers, so none is known.</Empty>}
      <div className="grid grid-cols-1 gap-4 desk:grid-cols-2 desk:items-start">
        {snapshot.projects.map((project) => (
          <Project
            key={project}
            project={project}
            snapshot={snapshot}
            dsns={dsns.filter((dsn) => nameOf(dsn) === project)}
            tunnelPath={door.settings.tunnelPath}
          />
        ))}
      </div>
    </ConsoleShell>
  )
}

type ProjectProps = { project: string; snapshot: Snapshot; dsns: string[]; tunnelPath: string }

function Project({ project, snapshot: { totals, limits, spools }, dsns, tunnelPath }: ProjectProps) {
  const own = totals.answers.filter((each) => each.project === project)
  const lanes = spools.flatMap(({ byProject = [] }) => byProject).filter((lane) => lane.project === project)
  const held = limits.filter((limit) => limit.project === project)
  return (
    <Panel title={project}>
      <table aria-label={`Envelopes of ${project} by fate`} className="w-full text-note">
        <tbody>
          {ANSWERS.map((answer) => {
            const count = own
              .filter((each) => each.answer === answer)
              .reduce((sum, each) => sum + each.count, 0)
            return count === 0 && answer !== 'delivered' ? null : (
              <tr key={answer} className="border-t border-line first:border-t-0">
                <th scope="row" className="py-1.5 text-left font-normal">
                  <a
                    href={`/console/feed?${new URLSearchParams({ project, fate: answer })}`}
                    className="no-underline hover:underline"
                  >
                    <FateBadge fate={answer} />
                  </a>
                </th>
                <td className="text-right font-mono tabular-nums">{sayCount(count)}</td>
              </tr>
            )
          })}
        </tbody>
      </table>
      <ul className="mt-3 grid gap-1 text-note">
        {lanes.map(({ category, envelopes, bytes }) => (
          <li key={category}>
            <Badge state="wait">waits</Badge> {sayCount(envelopes)} of {category}, {sayBytes(bytes)}
          </li>
        ))}
        {held.map(({ category, until }) => (
          <li key={category}>
            <Badge state="hold">limited</Badge> {category}, free again <In time={until} />
          </li>
        ))}
      </ul>
      {dsns.map((dsn) => (
        <div key={dsn} className="mt-4">
          <CodeBlock label="How an SDK sends to it" text={snippet(dsn, tunnelPath)} copy="Copy Sentry.init" />
        </div>
      ))}
    </Panel>
  )
}

function snippet(dsn: string, tunnelPath: string): string {
  const parsed = parseDsn(dsn)
  const tunnel = parsed ? tunnelUrl(tunnelPath, parsed) : tunnelPath
  return `Sentry.init({\n  dsn: '${dsn}',\n  tunnel: '${tunnel}',\n})`
}

/** As replicas have them, without secrets. */
function dsnsOf({ replicas }: Snapshot): string[] {
  const all = replicas.flatMap(({ status }) =>
    Array.isArray(status?.settings.dsns) ? status.settings.dsns : [],
  )
  return [...new Set(all.filter((dsn) => typeof dsn === 'string'))].flatMap((dsn) => {
    const parsed = parseDsn(dsn)
    return parsed ? [formatDsn(parsed)] : []
  })
}

function nameOf(dsn: string): string | undefined {
  const parsed = parseDsn(dsn)
  return parsed && `${parsed.host}${parsed.port && `:${parsed.port}`}/${parsed.projectId}`
}
