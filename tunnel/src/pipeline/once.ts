/** Work that runs once at a time. Calls meanwhile wait for the same result. */

type Once<Args extends unknown[], Result> = {
  (...args: Args): Promise<Result>
  /** The work in progress. */
  running: Promise<Result> | undefined
}

/** Wraps work. The next call after its end runs it again, also after a failure. */
export function once<Args extends unknown[], Result>(
  work: (...args: Args) => Promise<Result>,
): Once<Args, Result> {
  const call: Once<Args, Result> = (...args) => {
    call.running ??= work(...args).finally(() => {
      call.running = undefined
    })
    return call.running
  }
  call.running = undefined
  return call
}
