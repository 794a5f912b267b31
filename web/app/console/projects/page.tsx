/** Each project that is carried for: what came of it, and how to send to it. */

import { consoleFor } from '../../../lib/console/console.ts'
import { projectsIn } from '../../../lib/console/projects.ts'
import { Empty } from '../../../ui/console/panel.tsx'
import { ProjectPanel } from '../../../ui/console/project-panel.tsx'
import { ConsoleShell } from '../../../ui/console/shell.tsx'

export const metadata = { title: 'Projects · Console' }

export default async function ProjectsPage() {
  const door = await consoleFor('/console/projects')
  const [snapshot, seen] = await Promise.all([door.look(), door.seen()])
  const projects = projectsIn(snapshot, seen)
  return (
    <ConsoleShell at="projects" title="Projects">
      {projects.length === 0 && <Empty>No replica answers, so none is known.</Empty>}
      <div className="grid grid-cols-1 gap-4 desk:grid-cols-2 desk:items-start">
        {projects.map((project) => (
          <ProjectPanel key={project.name} project={project} tunnelPath={door.settings.tunnelPath} />
        ))}
      </div>
    </ConsoleShell>
  )
}
