/** Names of damaged spool files, which are set aside beside the spool's file until they are recovered or deleted. */

import { existsSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

const DAMAGED = '.damaged-'
const RECOVERED = '.recovered-'
const MARK = '-damaged'
const LOG_FILES = ['-wal', '-shm']

/** Notes that the file is damaged, so that the next tunnel that has it alone sets it aside. */
export function markDamaged(file: string): void {
  writeFileSync(file + MARK, '')
}

export function isMarkedDamaged(file: string): boolean {
  return existsSync(file + MARK)
}

/** Renames the file with its log. Returns its new name. */
export function setAside(file: string): string {
  const name = `${file}${DAMAGED}${new Date().toISOString().replaceAll(':', '')}`
  renameWithLog(file, name)
  rmSync(file + MARK, { force: true })
  return name
}

/** Lists the damaged files of a spool that were not recovered. */
export function listDamaged(spoolFile: string): string[] {
  const prefix = `${basename(spoolFile)}${DAMAGED}`
  return readdirSync(dirname(spoolFile))
    .filter((name) => name.startsWith(prefix) && !LOG_FILES.some((suffix) => name.endsWith(suffix)))
    .map((name) => join(dirname(spoolFile), name))
}

/** Returns the file in whose place a damaged one was; `undefined` for any other name. */
export function spoolFileOf(damaged: string): string | undefined {
  const [spoolFile, time] = damaged.split(DAMAGED)
  return spoolFile && time !== undefined ? spoolFile : undefined
}

/** Returns the name of a damaged file after its recovery. */
export function recoveredNameOf(damaged: string): string {
  return damaged.replace(DAMAGED, RECOVERED)
}

/** Renames a file that was recovered, with its log. */
export function markRecovered(damaged: string): string {
  const name = recoveredNameOf(damaged)
  renameWithLog(damaged, name)
  return name
}

function renameWithLog(file: string, name: string): void {
  for (const suffix of [...LOG_FILES, ''])
    if (existsSync(file + suffix)) renameSync(file + suffix, name + suffix)
}
