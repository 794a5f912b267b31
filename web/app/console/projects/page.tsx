/** Projects: traffic, limits and SDK configuration of each. */

import { AutoRefresh } from '../../../features/console/auto-refresh.tsx'
import { ConsoleShell } from '../../../features/console/console-shell.tsx'
import { requireConsoleData } from '../../../features/console/data-access/data-access.ts'
import { NoReplica } from '../../../features/console/notices.tsx'
import { IdleProjects, ProjectPanel } from '../../../features/console/projects/project-panel.tsx'
import { describePage, PROJECTS_PAGE } from '../../../features/console/projects/projects.ts'
import { type Query, readOffset, withQuery } from '../../../features/console/routes.ts'
import { formatQuantity } from '../../../lib/format.ts'
import { Pages } from '../../../ui/panel.tsx'

export const metadata = { title: 'Projects · Console' }

type Props = { searchParams: Promise<Query> }

const PROJECTS = '/console/projects'
const MAX_UNFOLDED = 3 // projects: with more, the page shows their traffic first

export default async function ProjectsPage({ searchParams }: Props) {
  const query = await searchParams
  const data = await requireConsoleData(withQuery(PROJECTS, query))
  const [snapshot, { reports, failed }] = await Promise.all([data.snapshot(), data.projects()])
  const { tunnelPath } = data.settings
  const { projects: names } = snapshot
  const from = readOffset(query.from)
  const { active, idle } = describePage(snapshot, reports, from)
  const shows = active.length + idle.length <= MAX_UNFOLDED ? 'configuration' : 'traffic'
  return (
    <ConsoleShell at="projects" title="Projects">
      <AutoRefresh />
      {names.length === 0 && <NoReplica />}
      {names.length > 0 && (
        <p role="status" className="mb-4 max-w-prose text-note text-quiet">
          Envelopes since the running replicas started.
          {failed > 0 &&
            ` ${formatQuantity(failed, 'replica')} did not respond or failed: the counts are incomplete.`}
        </p>
      )}
      <div className="grid grid-cols-1 gap-4 desk:grid-cols-2 desk:items-start">
        {active.map((project, index) => {
          const isAlone = shows === 'configuration' && active.length % 2 === 1 && index === active.length - 1
          return (
            <div key={project.name} className={`min-w-0 ${isAlone ? 'desk:col-span-2' : ''}`}>
              <ProjectPanel {...{ project, tunnelPath, shows }} layout={isAlone ? 'row' : 'card'} />
            </div>
          )
        })}
        {idle.length > 0 && (
          <div className="min-w-0 desk:col-span-2">
            <IdleProjects projects={idle} {...{ tunnelPath, shows, failed }} />
          </div>
        )}
      </div>
      <Pages
        label="Pages of projects"
        {...{ from, page: PROJECTS_PAGE, total: names.length }}
        hrefOf={(offset) => withQuery(PROJECTS, { from: offset })}
        of="projects"
      />
    </ConsoleShell>
  )
}
