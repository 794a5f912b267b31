/** Lets one process at a time do what must not be done twice at once. */

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const LOOK_AGAIN = 200 // ms

/**
 * Does `work` while holding the lock `file`, which names the process that has it; waits for another one first, and
 * takes over from one that died.
 * @template T
 * @param {string} file
 * @param {() => Promise<T>} work
 * @param {(pid: number) => void} onWait told once, when another process has the lock
 * @returns {Promise<T>}
 */
export async function withLock(file, work, onWait) {
  mkdirSync(dirname(file), { recursive: true })
  for (let waits = 0; !take(file); waits++) {
    const holder = readHolder(file)
    if (holder === undefined) continue
    if (!isAlive(holder)) rmSync(file, { force: true })
    else {
      if (waits === 0) onWait(holder)
      await sleep(LOOK_AGAIN)
    }
  }
  const release = () => rmSync(file, { force: true })
  process.on('exit', release)
  try {
    return await work()
  } finally {
    process.off('exit', release)
    release()
  }
}

/** @param {string} file */
function take(file) {
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx' })
    return true
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'EEXIST') return false
    throw error
  }
}

/** @param {string} file @returns {number | undefined} `undefined` when the lock has just gone */
function readHolder(file) {
  try {
    return Number(readFileSync(file, 'utf8'))
  } catch {
    return undefined
  }
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM'
  }
}
