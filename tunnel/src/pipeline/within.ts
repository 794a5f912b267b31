/** Bound of the time that something is waited for. The work itself goes on. */

/** Rejects when there is no result within `ms`. A process that has nothing else to do does not wait for that. */
export async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  const onLate = () => late.reject(new Error(`no response within ${ms / 1000} s`))
  const timer = setTimeout(onLate, ms).unref()
  return Promise.race([work, late.promise]).finally(() => clearTimeout(timer))
}
