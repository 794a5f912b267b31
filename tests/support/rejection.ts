/** What an act was refused with. */

import { Rejection } from '../../tunnel/src/rejections.ts'

/** What it gives, or the `Rejection` it throws; anything else thrown is a bug and goes on. */
export function attempt<T>(act: () => T): T | Rejection {
  try {
    return act()
  } catch (error) {
    if (error instanceof Rejection) return error
    throw error
  }
}

/** The code of the rejection, or `taken`. */
export function codeOf(act: () => unknown): string {
  const outcome = attempt(act)
  return outcome instanceof Rejection ? outcome.code : 'taken'
}
