/** Makes the checks, one after the other: they are few, and a deployment is not to be hurried. */

import { type Check, type Finding, fail, unknown } from './check.ts'
import type { Deployment } from './deployment.ts'
import { NoAnswer } from './request.ts'

/** `cause` names the check that failed before, where one was not made for it. */
export type Diagnosis = (Omit<Check, 'examine' | 'after'> & Finding & { cause?: string })[]

export async function examineAll(checks: readonly Check[], deployment: Deployment): Promise<Diagnosis> {
  const diagnosis: Diagnosis = []
  for (const { examine, after = [], ...check } of checks) {
    const cause = diagnosis.find(({ name, result }) => result === 'fail' && after.includes(name))
    const finding = cause
      ? { ...unknown(`Not tried, since “${cause.title}” failed.`), cause: cause.name }
      : await find(examine, deployment)
    diagnosis.push({ ...check, ...finding })
  }
  return diagnosis
}

async function find(examine: Check['examine'], deployment: Deployment): Promise<Finding> {
  try {
    return await examine(deployment)
  } catch (error) {
    if (error instanceof NoAnswer) return fail(error.message)
    throw error
  }
}

/** For checks that post as a known project. */
export function withDsn(examine: Check['examine']): Check['examine'] {
  return (deployment) =>
    deployment.dsn
      ? examine(deployment)
      : unknown('Not checkable from outside: the page does not tell its DSN; give --dsn.')
}

/** For checks that only the tunnels can answer. */
export function withInside(
  examine: (inside: NonNullable<Deployment['inside']>, deployment: Deployment) => Promise<Finding> | Finding,
): Check['examine'] {
  return (deployment) =>
    deployment.inside
      ? examine(deployment.inside, deployment)
      : unknown('Not checkable from outside: only the tunnels know; give --admin and --password-file.')
}
