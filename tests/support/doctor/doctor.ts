/** Runs `npm run doctor`. */

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Result } from '../../../doctor/check.ts'
import { NODE, ROOT } from '../node.ts'

export type Told = { name: string; result: Result; message: string; verifies: string; remedy: string }

/** `checks` is set with `--json`. */
export type Diagnosis = { code: number; text: string; checks: Told[] }

export function askDoctor(...args: string[]): Promise<Diagnosis> {
  return askDoctorIn(ROOT, ...args)
}

/** Runs the doctor of another work tree. */
export async function askDoctorIn(root: string, ...args: string[]): Promise<Diagnosis> {
  const run = promisify(execFile)(NODE, ['doctor/main.ts', ...args], {
    cwd: root,
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE },
  })
  const {
    code = 0,
    stdout,
    stderr,
  } = await run.then(
    (said) => ({ code: 0, ...said }),
    (error) => error,
  )
  if (code === 2) throw new Error(stderr)
  return { code, text: stdout, checks: args.includes('--json') ? JSON.parse(stdout).checks : [] }
}
