/** One thing that is looked at: what it shows, and what to do where it is not as it should be. */

import type { Deployment } from './deployment.ts'

/** `unknown`: it cannot be seen from where the doctor stands. */
export type Result = 'pass' | 'warn' | 'fail' | 'unknown'

export type Finding = { result: Result; says: string }

export type Check = {
  /** How scripts know it. */
  name: string
  title: string
  /** What is known when it passes. */
  proves: string
  remedy: string
  /** Names of checks without which this one says nothing: when one of them has failed it is not made. */
  after?: readonly string[]
  /** May throw `NoAnswer`, which is a failure. */
  examine(deployment: Deployment): Finding | Promise<Finding>
}

export const pass = (says: string): Finding => ({ result: 'pass', says })
export const warn = (says: string): Finding => ({ result: 'warn', says })
export const fail = (says: string): Finding => ({ result: 'fail', says })
export const unknown = (says: string): Finding => ({ result: 'unknown', says })
