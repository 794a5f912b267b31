/** Each project that is carried for: what came of it, and how to send to it. */

import { consoleFor } from '../../../lib/console/console.ts'
import { type Query, readPlace, withQuery } from '../../../lib/console/places.ts'
import { projectsIn } from '../../../lib/console/projects.ts'
import { Pages } from '../../../ui/console/pages.tsx'
import { Empty } from '../../../ui/console/panel.tsx'
import { ProjectPanel } from '../../../ui/console/project-panel.tsx'
import { ConsoleShell } from '../../../ui/console/shell.tsx'

export const metadata = { title: 'Projects · Console' }

type Props = { searchParams: Promise<Query> }

const PROJECTS = '/console/projects'
const PAGE = 50

export default async function ProjectsPage({ searchParams }: Props) {
  const query = await searchParams
  const door = await consoleFor(withQuery(PROJECTS, query))
  const [snapshot, seen] = await Promise.all([door.look(), door.seen()])
  const from = readPlace(query.from)
  const projects = projectsIn(snapshot, seen, snapshot.projects.slice(from, from + PAGE))
  return (
    <ConsoleShell at="projects" title="Projects">
      {snapshot.projects.length === 0 && <Empty>No replica answers, so none is known.</Empty>}
      <div className="grid grid-cols-1 gap-4 desk:grid-cols-2 desk:items-start">
        {projects.map((project) => (
          <ProjectPanel key={project.name} project={project} tunnelPath={door.settings.tunnelPath} />
        ))}
      </div>
      <Pages
        label="Pages of projects"
        {...{ from, page: PAGE, all: snapshot.projects.length }}
        hrefOf={(place) => withQuery(PROJECTS, { from: place })}
        before="Projects before"
        further="Further projects"
      />
    </ConsoleShell>
  )
}
