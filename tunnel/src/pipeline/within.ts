/** Bound of the time that something is waited for. The work itself goes on. */

/** Rejects when there is no result within `ms`. */
export async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error(`no response within ${ms / 1000} s`)), ms)
  return Promise.race([work, late.promise]).finally(() => clearTimeout(timer))
}
