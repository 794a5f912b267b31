/** Runs memory-intensive tasks one after the other, in order. */

export function createQueue(): <T>(task: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return function run(task) {
    const result = last.then(task)
    last = result.catch(() => {})
    return result
  }
}
