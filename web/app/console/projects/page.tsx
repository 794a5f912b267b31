/** Projects: traffic, limits and SDK configuration of each. */

import { ConsoleShell } from '../../../features/console/console-shell.tsx'
import { consoleFor } from '../../../features/console/data-access.ts'
import { Unheard } from '../../../features/console/notices.tsx'
import { IdleProjects, ProjectPanel } from '../../../features/console/projects/project-panel.tsx'
import { type ProjectView, projectsIn } from '../../../features/console/projects/projects.ts'
import { type Query, readPlace, withQuery } from '../../../features/console/routes.ts'
import { Pages } from '../../../ui/pagination.tsx'

export const metadata = { title: 'Projects · Console' }

type Props = { searchParams: Promise<Query> }

const PROJECTS = '/console/projects'
const PAGE = 50

export default async function ProjectsPage({ searchParams }: Props) {
  const query = await searchParams
  const door = await consoleFor(withQuery(PROJECTS, query))
  const [snapshot, seen] = await Promise.all([door.look(), door.seen()])
  const from = readPlace(query.from)
  const { tunnelPath } = door.settings
  const projects = projectsIn(snapshot, seen, snapshot.projects.slice(from, from + PAGE))
  const [busy, idle] = [projects.filter((project) => !isIdle(project)), projects.filter(isIdle)]
  return (
    <ConsoleShell at="projects" title="Projects">
      {snapshot.projects.length === 0 && <Unheard />}
      <div className="grid grid-cols-1 gap-4 empty:hidden desk:grid-cols-2 desk:items-start">
        {busy.map((project) => (
          <ProjectPanel key={project.name} project={project} tunnelPath={tunnelPath} />
        ))}
      </div>
      {idle.length > 0 && (
        <div className={busy.length > 0 ? 'mt-4' : undefined}>
          <IdleProjects projects={idle} tunnelPath={tunnelPath} />
        </div>
      )}
      <Pages
        label="Pages of projects"
        {...{ from, page: PAGE, all: snapshot.projects.length }}
        hrefOf={(place) => withQuery(PROJECTS, { from: place })}
        before="Previous projects"
        further="More projects"
      />
    </ConsoleShell>
  )
}

/** Reports whether a project has no traffic, no pending or ended spool entries and no limits. */
function isIdle({ traffic, ends, shares, limits, sdks }: ProjectView): boolean {
  return [traffic, ends, limits, sdks, shares.flatMap(({ partitions }) => partitions)].every(
    ({ length }) => length === 0,
  )
}
