/** Calls of functions that may throw a rejection. */

import { Rejection } from '../../contract/rejections.ts'

/** Returns the result, or the `Rejection` that was thrown. Throws any other error. */
export function attempt<T>(act: () => T): T | Rejection {
  try {
    return act()
  } catch (error) {
    if (error instanceof Rejection) return error
    throw error
  }
}

/** Returns the code of the rejection, or `taken`. */
export function codeOf(act: () => unknown): string {
  const outcome = attempt(act)
  return outcome instanceof Rejection ? outcome.code : 'taken'
}
