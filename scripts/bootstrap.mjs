/** Prepares a fresh clone (packages of the lockfile, Node.js 24), then runs the script named as the first argument. */

import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runStep, withLock } from './progress.mjs'

const REQUIRED_MAJOR = 24
const LOOK_MS = 500
const NODE_PACKAGES = ['linux-x64', 'linux-arm64'] // platforms for which the root depends on `node-<platform>`
const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const packagedNode = join(root, 'node_modules/.bin/node')
const isRecent = Number.parseInt(process.versions.node, 10) >= REQUIRED_MAJOR

const [script = '', ...args] = process.argv.slice(2)

try {
  if (!isRecent && !NODE_PACKAGES.includes(`${process.platform}-${process.arch}`))
    throw new Error(describeRequirement())
  if (!isInstalled())
    await withLock(join(root, '.culvert/install.lock'), install, (pid) =>
      console.log(`Waiting for process ${pid}, which installs the packages …`),
    )
  run(findNode())
} catch (error) {
  const { message, output } = /** @type {Error & { output?: string }} */ (error)
  if (output) console.error(output)
  console.error(`culvert: ${message}`)
  process.exitCode = 1
}

/** Returns whether npm's record of installed packages has every package of the lockfile, and no other. */
function isInstalled() {
  const wanted = readPackages('package-lock.json')
  const installed = readPackages('node_modules/.package-lock.json')
  const agrees = (/** @type {string} */ path) =>
    installed[path] && wanted[path]
      ? installed[path].integrity === wanted[path].integrity
      : wanted[path]?.optional
  return Object.keys({ ...wanted, ...installed }).every((path) => path === '' || agrees(path))
}

/** @param {string} file @returns {Record<string, { integrity?: string, optional?: boolean }>} */
function readPackages(file) {
  return existsSync(join(root, file)) ? JSON.parse(readFileSync(join(root, file), 'utf8')).packages : {}
}

async function install() {
  if (isInstalled()) return // another process has just done it
  const stop = new AbortController()
  for (const signal of SIGNALS) process.once(signal, () => stop.abort())
  whenNpmEnds(() => stop.abort())
  // npm sets `npm_execpath` to its own script; run by this Node it needs no shell on any system.
  const isFromNpm = /npm-cli\.js$/.test(process.env.npm_execpath ?? '')
  const npm = isFromNpm ? [process.execPath, process.env.npm_execpath ?? ''] : ['npm']
  const options = { cwd: root, signal: stop.signal }
  await runStep('Installing packages (npm ci)', [...npm, 'ci', '--loglevel=error'], options).catch(
    (error) => {
      if (stop.signal.aborted) process.exit(130)
      throw error
    },
  )
  for (const signal of SIGNALS) process.removeAllListeners(signal)
  // One that cannot run here (musl) would precede the system's Node on the PATH of every npm script.
  if (isRecent && !isRunnable(packagedNode)) rmSync(packagedNode, { force: true })
}

function findNode() {
  if (isRecent) return process.execPath
  if (isRunnable(packagedNode)) return packagedNode
  throw new Error(describeRequirement())
}

/** @param {string} node */
function isRunnable(node) {
  return spawnSync(node, ['--version'], { stdio: 'ignore' }).status === 0
}

function describeRequirement() {
  return `Node.js ${REQUIRED_MAJOR} or newer is needed, this is ${process.versions.node}; install it from https://nodejs.org and run this again.`
}

/** Calls `stop` when npm has ended: the shell that it starts does not pass its signals on. @param {() => void} stop */
function whenNpmEnds(stop) {
  if (!process.env.npm_lifecycle_event) return
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    stop()
  }, LOOK_MS).unref()
}

/** Runs the script, forwards signals to it, and exits with its exit code. @param {string} node */
function run(node) {
  const child = spawn(node, [join(root, script), ...args], { stdio: 'inherit' })
  for (const signal of SIGNALS) process.on(signal, () => child.kill(signal))
  whenNpmEnds(() => child.kill('SIGTERM'))
  child.on('error', (error) => {
    console.error(`culvert: ${node} could not be started (${error.message}).`)
    process.exitCode = 1
  })
  child.on('exit', (code, signal) => {
    process.exit(code ?? 128 + (signal === 'SIGINT' ? 2 : 15)) // at once: a late signal would replace the code
  })
}
