/** Compares the containers of the Compose project on this machine with its files and the settings in force. */

import type { Environment } from 'contract/settings'
import { ComposeProject } from '../scripts/deploy/compose-project.ts'
import { isRenderedAnew, nginxServices } from '../scripts/deploy/nginx-reload.ts'

/** Service that runs with other settings; `names` are those settings, and empty for nginx, whose file differs. */
export type OutdatedService = { service: string; names: string[] }

/** Returns the services that run with other settings; `undefined` where Compose runs no Culvert. */
export function findOutdatedServices(env: Environment): OutdatedService[] | undefined {
  const project = new ComposeProject(env, new AbortController().signal)
  if (project.containers('tunnel').length === 0) return undefined
  const services = project.services()
  const outdated = ['tunnel', 'web'].flatMap((service) => {
    const names = differences(project, service, services[service]?.environment ?? {})
    return names.length > 0 ? [{ service, names }] : []
  })
  const nginx = nginxServices(services).filter(
    ({ name, renderer }) => project.containers(name).length > 0 && isRenderedAnew(project, renderer),
  )
  return [...outdated, ...nginx.map(({ name }) => ({ service: name, names: [] }))]
}

/** Returns the settings with another value in any container of a service. */
function differences(
  project: ComposeProject,
  service: string,
  wanted: Readonly<Record<string, string | null>>,
): string[] {
  const containers = project.containers(service)
  const environments = project
    .lines('inspect', '--format', '{{json .Config.Env}}', ...containers)
    .map((line) => new Set<string>(JSON.parse(line)))
  return Object.entries(wanted).flatMap(([name, value]) => {
    const isSame = (env: Set<string>) =>
      value === null ? ![...env].some((each) => each.startsWith(`${name}=`)) : env.has(`${name}=${value}`)
    return environments.every(isSame) ? [] : [name]
  })
}
