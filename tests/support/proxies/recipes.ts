/** The recipes of `deploy/proxies/`, run by the real programs. Only addresses are replaced. */

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../../scripts/start/free-port.ts'
import { untilListening } from '../listening.ts'
import { ROOT } from '../node.ts'
import { type Program, startProgram } from '../program.ts'
import {
  APACHE_PROGRAM,
  CADDY_PROGRAM,
  HAPROXY_PROGRAM,
  NGINX_PROGRAM,
  type Requirement,
} from '../requirements.ts'
import { makeFolder } from '../temporary-folder.ts'

/** Addresses like `127.0.0.1:3000`, in place of those in a recipe. */
export type Addresses = { tunnels: [string, string]; app: string }

/** Place where a program runs: its own files, and the address on which it listens. */
type Place = { folder: string; listen: string }

export type Recipe = {
  /** Name of the file in `deploy/proxies/`. */
  file: string
  requirement: Requirement
  /** Text of the file that names the address of the site. */
  site: string
  /** Text that replaces `site`. */
  siteAt: (listen: string) => string
  /** Returns the file that the program reads: the recipe, and what surrounds it on the machine of a reader. */
  surround: (recipe: string, place: Place) => string
  command: (file: string) => [program: string | undefined, ...args: string[]]
  /** When a tunnel has stopped, posts fail until a health check has found this. Other programs send them to the other tunnel at once. */
  needsHealthCheck: boolean
}

export const RECIPES: readonly Recipe[] = [
  {
    file: 'nginx.conf',
    requirement: 'nginx',
    site: 'listen 80;',
    siteAt: (listen) => `listen ${listen};`,
    surround: surroundNginx,
    command: (file) => [NGINX_PROGRAM, '-e', 'stderr', '-c', file],
    needsHealthCheck: false,
  },
  {
    file: 'Caddyfile.caddy',
    requirement: 'caddy',
    site: '\nshop.example {',
    siteAt: (listen) => `\nhttp://${listen} {`,
    surround: (recipe) => `{\n\tadmin off\n\tgrace_period 1s\n\tdefault_bind 127.0.0.1\n}\n${recipe}`,
    command: (file) => [CADDY_PROGRAM, 'run', '--adapter', 'caddyfile', '--config', file],
    needsHealthCheck: true,
  },
  {
    file: 'haproxy.cfg',
    requirement: 'haproxy',
    site: 'bind :80',
    siteAt: (listen) => `bind ${listen}`,
    surround: (recipe) => recipe,
    command: (file) => [HAPROXY_PROGRAM, '-db', '-f', file],
    needsHealthCheck: false,
  },
  {
    file: 'apache.conf',
    requirement: 'apache',
    site: '<VirtualHost *:80>',
    siteAt: (listen) => `<VirtualHost ${listen}>`,
    surround: surroundApache,
    command: (file) => [APACHE_PROGRAM, '-D', 'FOREGROUND', '-f', file],
    needsHealthCheck: false,
  },
]

/** Starts the program of `recipe` on a free port of 127.0.0.1, and waits until it listens. `await using` stops it. */
export async function startRecipe(recipe: Recipe, addresses: Addresses) {
  for (let attempt = 1; ; attempt++)
    try {
      return await startOn(await freePort(), recipe, addresses)
    } catch (error) {
      if (attempt === 3 || !/in use/i.test(String(error))) throw error // another program has taken the port meanwhile
    }
}

async function startOn(port: number, recipe: Recipe, addresses: Addresses) {
  await using starting = new AsyncDisposableStack()
  const { path: folder } = starting.use(await makeFolder())
  const listen = `127.0.0.1:${port}`
  const replaced = replaceAddresses(recipe, listen, addresses)
  const file = join(folder, recipe.file)
  writeFileSync(file, recipe.surround(replaced, { folder, listen }))
  const program = run(recipe, file, folder)
  starting.defer(() => program.stop().catch(() => {})) // HAProxy ends with the signal, not with 0
  await untilListening(recipe.file, port, program)
  const started = starting.move()
  return { url: `http://${listen}`, [Symbol.asyncDispose]: () => started.disposeAsync() }
}

export function readRecipe({ file }: Pick<Recipe, 'file'>): string {
  return readFileSync(join(ROOT, 'deploy/proxies', file), 'utf8')
}

function run(recipe: Recipe, file: string, folder: string): Program {
  const [program = recipe.file, ...args] = recipe.command(file)
  return startProgram(recipe.file, program, args, { HOME: folder })
}

/** Replaces all addresses in one pass: a new one may contain the text of another. Throws when the file does not name each of them once. */
function replaceAddresses(recipe: Recipe, listen: string, { tunnels, app }: Addresses): string {
  const addresses = new Map([
    [recipe.site, recipe.siteAt(listen)],
    ['127.0.0.1:9090', tunnels[0]],
    ['127.0.0.1:9190', tunnels[1]],
    ['127.0.0.1:3000', app],
  ])
  const missing = new Set(addresses.keys())
  const pattern = new RegExp([...addresses.keys()].map((text) => RegExp.escape(text)).join('|'), 'g')
  const replaced = readRecipe(recipe).replace(pattern, (found) => {
    if (!missing.delete(found)) throw new Error(`${recipe.file} contains "${found}" twice`)
    return addresses.get(found) ?? ''
  })
  if (missing.size > 0) throw new Error(`${recipe.file} does not contain "${[...missing].join('", "')}"`)
  return replaced
}

function surroundNginx(recipe: string, { folder }: Place): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  return `
    daemon off;
    ${process.getuid?.() === 0 ? 'user root;' : ''} # the folder belongs to this user only
    pid ${folder}/nginx.pid;
    events {}
    http {
      access_log off;
      server_tokens off;
      ${temporary.map((name) => `${name}_temp_path ${folder}/${name};`).join('\n')}
      ${recipe}
    }`
}

const APACHE_MODULES = '/usr/lib/apache2/modules'

/** Modules that `a2enmod` of Debian enables for those that a recipe names. */
const REQUIRED_MODULES: Record<string, string[]> = { proxy_balancer: ['slotmem_shm'] }

function surroundApache(recipe: string, { folder, listen }: Place): string {
  const [, named = ''] = /a2enmod (.+)/.exec(recipe) ?? []
  const modules = ['mpm_event', 'authz_core', ...named.split(' ')]
  const loaded = modules.flatMap((name) => [...(REQUIRED_MODULES[name] ?? []), name])
  return `
    ${loaded.map((name) => `LoadModule ${name}_module ${APACHE_MODULES}/mod_${name}.so`).join('\n')}
    ServerRoot ${folder}
    DefaultRuntimeDir ${folder}
    PidFile ${folder}/apache.pid
    Mutex file:${folder}
    ErrorLog "|/bin/cat"
    ServerTokens Prod
    ${process.getuid?.() === 0 ? 'User nobody\nGroup nogroup' : ''}
    Listen ${listen}
    ${recipe}`
}
