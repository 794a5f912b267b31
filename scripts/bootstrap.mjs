/** Makes a bare clone ready: its packages as the lockfile says, and Node.js 24 to run the script named. */

import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { withLock } from './lock.mjs'
import { runStep } from './progress.mjs'

const NEEDED = 24 // major version of Node.js
const BRINGS_NODE = ['linux-x64', 'linux-arm64'] // where the package `node-<platform>` is a dependency of the root
const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const broughtNode = join(root, 'node_modules/.bin/node')
const ownIsNew = Number.parseInt(process.versions.node, 10) >= NEEDED

const [script = '', ...args] = process.argv.slice(2)

try {
  if (!ownIsNew && !BRINGS_NODE.includes(`${process.platform}-${process.arch}`))
    throw new Error(sayWhatToInstall())
  if (!packagesAgree()) await withLock(join(root, '.culvert/install.lock'), install, sayWeWait)
  run(findNode())
} catch (error) {
  const { message, output } = /** @type {Error & { output?: string }} */ (error)
  if (output) console.error(output)
  console.error(`culvert: ${message}`)
  process.exitCode = 1
}

/** Whether npm's own record of what it installed has every package of the lockfile, and no other. */
function packagesAgree() {
  const wanted = readPackages('package-lock.json')
  const there = readPackages('node_modules/.package-lock.json')
  const agrees = (/** @type {string} */ path) =>
    there[path] && wanted[path] ? there[path].integrity === wanted[path].integrity : wanted[path]?.optional
  return Object.keys({ ...wanted, ...there }).every((path) => path === '' || agrees(path))
}

/** @param {string} file @returns {Record<string, { integrity?: string, optional?: boolean }>} */
function readPackages(file) {
  return existsSync(join(root, file)) ? JSON.parse(readFileSync(join(root, file), 'utf8')).packages : {}
}

async function install() {
  if (packagesAgree()) return // another process has just done it
  const asked = new AbortController()
  for (const signal of SIGNALS) process.once(signal, () => asked.abort())
  // `npm_execpath` is npm's own script when npm started us; run by this very Node it needs no shell on any system.
  const byNpm = /npm-cli\.js$/.test(process.env.npm_execpath ?? '')
  const npm = byNpm ? [process.execPath, process.env.npm_execpath ?? ''] : ['npm']
  const options = { cwd: root, signal: asked.signal }
  await runStep('Installing packages (npm ci)', [...npm, 'ci', '--loglevel=error'], options).catch(
    (error) => {
      if (asked.signal.aborted) process.exit(130)
      throw error
    },
  )
  for (const signal of SIGNALS) process.removeAllListeners(signal)
  // Where it cannot run (musl), it would stand before the system's Node on the PATH of every npm script.
  if (ownIsNew && !runs(broughtNode)) rmSync(broughtNode, { force: true })
}

/** @param {number} pid */
function sayWeWait(pid) {
  console.log(`Waiting for process ${pid}, which installs the packages …`)
}

function findNode() {
  if (ownIsNew) return process.execPath
  if (runs(broughtNode)) return broughtNode
  throw new Error(sayWhatToInstall())
}

/** @param {string} node */
function runs(node) {
  return spawnSync(node, ['--version'], { stdio: 'ignore' }).status === 0
}

function sayWhatToInstall() {
  return `Node.js ${NEEDED} or newer is needed, this is ${process.versions.node}; install it from https://nodejs.org and run this again.`
}

/** Runs the script in our place: signals go to it, its exit code is ours. @param {string} node */
function run(node) {
  const child = spawn(node, [join(root, script), ...args], { stdio: 'inherit' })
  for (const signal of SIGNALS) process.on(signal, () => child.kill(signal))
  child.on('error', (error) => {
    console.error(`culvert: ${node} could not be started (${error.message}).`)
    process.exitCode = 1
  })
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 128 + (signal === 'SIGINT' ? 2 : 15)
  })
}
