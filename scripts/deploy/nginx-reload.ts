/** Applies settings to the running nginx: renders its configuration, has nginx check it, and reloads it without an interruption. */

import { UserError } from '../environment.ts'
import type { StepFailed } from '../progress.mjs'
import type { ComposeProject, Service } from './compose-project.ts'

/** Service that renders the configuration of nginx. The one of a second nginx is called nginx-config-2. */
const RENDERER = /^nginx-config/

/** Services that end: each deploy runs them in containers of their own. */
export const RUNS_ONCE = /^nginx-config|-check$/

const NEXT = '/nginx/next.conf'
const CURRENT = '/nginx/nginx.conf'

/** A service nginx, the one that renders its configuration, and those that check something else before it starts, such as its certificate. */
type Nginx = { name: string; renderer: string; checks: string[] }

/** Returns the services that serve visitors. */
export function nginxServices(services: Record<string, Service>): Nginx[] {
  const names = Object.keys(services).filter((name) => name.startsWith('nginx') && !RENDERER.test(name))
  return names.flatMap((name) => {
    const needed = Object.keys(services[name]?.depends_on ?? {})
    const renderer = needed.find((each) => RENDERER.test(each))
    const checks = needed.filter((each) => each.endsWith('-check'))
    return renderer === undefined ? [] : [{ name, renderer, checks }]
  })
}

/** Checks what nginx needs at its start, such as its certificate. Throws a `UserError` with what the check says. */
export async function checkForNginx(project: ComposeProject, all: readonly Nginx[]): Promise<void> {
  for (const check of new Set(all.flatMap(({ checks }) => checks)))
    await project
      .compose(`Running ${check}`, {}, 'run', '--rm', '--no-deps', '-T', check)
      .catch((error: StepFailed) => {
        throw new UserError(
          `nothing was built or replaced: ${error.output?.split('\n').at(-1) || error.message}`,
        )
      })
}

/**
 * Renders the configuration with the image `tag`, and has each nginx use it, one after the other. An nginx whose ports, mounts or image have
 * changed is replaced. Rejects when nginx refuses the configuration: it then keeps the former one.
 */
export async function applyToNginx(
  project: ComposeProject,
  all: readonly Nginx[],
  tag: string,
): Promise<void> {
  for (const { name, renderer } of all) {
    const image = { IMAGE_TAG: tag }
    const run = ['run', '--rm', '--no-deps', '-T', renderer]
    const render = ['node', 'deploy/nginx/write-config.ts', NEXT, '--check-all']
    await project.compose(`Rendering the configuration of ${name}`, image, ...run, ...render)
    const [container] = project.containers(name)
    const isReplaced = container === undefined || isOutdated(project, name, container)
    if (!isReplaced) checkConfig(project, name)
    await project.compose(`Writing the configuration of ${name}`, image, ...run, 'mv', NEXT, CURRENT)
    if (isReplaced)
      await project.compose(
        `Replacing ${name}, whose ports, mounts or image have changed: it is unavailable for about a second`,
        {},
        ...['up', '--detach', '--no-deps', '--wait', name],
      )
    else await project.compose(`Reloading ${name}`, {}, 'kill', '--signal', 'HUP', name)
  }
}

/** Returns whether the settings give another configuration than the one that nginx has. */
export function isRenderedAnew(project: ComposeProject, renderer: string): boolean {
  const render = `node deploy/nginx/write-config.ts ${NEXT} --check-all && cmp ${NEXT} ${CURRENT}`
  return (
    project.docker('compose', 'run', '--rm', '--no-deps', '-T', renderer, 'sh', '-c', render).status !== 0
  )
}

/** Returns whether the compose files describe another container than the one that runs. */
function isOutdated(project: ComposeProject, name: string, container: string): boolean {
  const label = '{{index .Config.Labels "com.docker.compose.config-hash"}}'
  const [running] = project.lines('inspect', '--format', label, container)
  const [described] = project.lines('compose', 'config', '--hash', name)
  return described !== `${name} ${running}`
}

function checkConfig(project: ComposeProject, name: string): void {
  const test = ['nginx', '-t', '-q', '-p', '/var/tmp/nginx', '-e', 'stderr', '-c', NEXT]
  const { status, stderr } = project.docker('compose', 'exec', '-T', name, ...test)
  if (status !== 0) throw new UserError(`${name} refuses its new configuration.`, stderr.trim())
}
