/** Defines what a check is, and runs checks one after the other. */

import type { AdminClient } from './admin-client.ts'
import type { Deployment } from './deployment.ts'
import { NoResponse } from './request.ts'

/** Result of a check; `unknown` if this machine cannot check it. */
export type Result = 'pass' | 'warn' | 'fail' | 'unknown'

/** `remedy` replaces that of the check, if the finding has a better one. */
export type Finding = { result: Result; message: string; remedy?: string }

export type Check = {
  /** Identifier for scripts. */
  name: string
  title: string
  /** Statement that holds when the check passes. */
  verifies: string
  remedy: string
  /** Names of checks whose failure makes this one meaningless. */
  after?: readonly string[]
  /** May throw `NoResponse`, which fails the check. */
  run(deployment: Deployment): Finding | Promise<Finding>
}

/** Findings of all checks; `blocked_by` names the failed check because of which one did not run. */
export type Diagnosis = (Omit<Check, 'run' | 'after'> & Finding & { blocked_by?: string; remedy: string })[]

export const pass = (message: string): Finding => ({ result: 'pass', message })
export const warn = (message: string): Finding => ({ result: 'warn', message })
export const fail = (message: string): Finding => ({ result: 'fail', message })
export const unknown = (message: string): Finding => ({ result: 'unknown', message })

/** Makes a finding with the remedy of its cause. */
export const failWith = (message: string, remedy: string): Finding => ({ ...fail(message), remedy })
export const warnWith = (message: string, remedy: string): Finding => ({ ...warn(message), remedy })

/** Runs the checks in their order, so that they do not disturb each other's measurements. */
export async function runChecks(checks: readonly Check[], deployment: Deployment): Promise<Diagnosis> {
  const diagnosis: Diagnosis = []
  for (const { run, after = [], ...check } of checks) {
    const cause = causeAmong(diagnosis, after)
    const finding = cause
      ? { ...unknown(`Not checked, since “${cause.title}” failed.`), blocked_by: cause.name }
      : await findingOf(run, deployment)
    diagnosis.push({ ...check, ...finding })
  }
  return diagnosis
}

/** Returns the first failed check among `names`, or the one for which one of them did not run. */
function causeAmong(diagnosis: Diagnosis, names: readonly string[]): Diagnosis[number] | undefined {
  for (const { name, result, blocked_by: cause } of diagnosis) {
    if (!names.includes(name)) continue
    if (result === 'fail' || cause !== undefined)
      return diagnosis.find((check) => check.name === (cause ?? name))
  }
  return undefined
}

async function findingOf(run: Check['run'], deployment: Deployment): Promise<Finding> {
  try {
    return await run(deployment)
  } catch (error) {
    if (error instanceof NoResponse) return fail(error.message)
    throw error
  }
}

/** Makes a check that needs the DSN of a project. */
export function withDsn(
  run: (deployment: Deployment, dsn: string) => Finding | Promise<Finding>,
): Check['run'] {
  return (deployment) =>
    deployment.dsn === undefined
      ? unknown('Not checkable from outside: the page does not contain a DSN; name one with --dsn.')
      : run(deployment, deployment.dsn)
}

/** Makes a check that needs the admin ports of the tunnels. */
export function withAdmin(
  run: (admin: AdminClient, deployment: Deployment) => Finding | Promise<Finding>,
): Check['run'] {
  return (deployment) =>
    deployment.admin === undefined
      ? unknown('Not checkable from outside: only the tunnels know; add --admin and --password-file.')
      : run(deployment.admin, deployment)
}
