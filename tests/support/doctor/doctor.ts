/** Runs `npm run doctor`. */

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Environment } from '../../../contract/settings.ts'
import type { Result } from '../../../doctor/check.ts'
import { runDoctor } from '../../../doctor/doctor.ts'
import { ENVIRONMENT, NODE } from '../node.ts'

export type Told = { name: string; result: Result; message: string; verifies: string; remedy: string }

/** `checks` is set with `--json`. */
export type Diagnosis = { code: number; text: string; checks: Told[] }

/** Runs the doctor in the process of the test, which saves a start of Node.js. */
export function askDoctor(...args: string[]): Promise<Diagnosis> {
  return askDoctorOf({ PATH: process.env.PATH, COMPOSE_PROJECT_NAME: 'culvert-runs-nowhere' }, ...args)
}

/** Runs the doctor with the settings of a stack. */
export async function askDoctorOf(env: Environment, ...args: string[]): Promise<Diagnosis> {
  const { code, text } = await runDoctor(args, env)
  return read(args, code, `${text}\n`)
}

/** Runs the doctor of a work tree as a process of its own. */
export async function askDoctorIn(root: string, ...args: string[]): Promise<Diagnosis> {
  const run = promisify(execFile)(NODE, ['doctor/main.ts', ...args], {
    cwd: root,
    env: ENVIRONMENT,
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
  return read(args, code, stdout)
}

function read(args: string[], code: number, text: string): Diagnosis {
  return { code, text, checks: args.includes('--json') ? JSON.parse(text).checks : [] }
}
