/** Lifetime of fixtures. */

/** Scope of a fixture that starts when a test of the file first names it, and ends after the last test. */
export const perFile = { scope: 'file' } as const

type Lifetime = { onCleanup: (end: () => PromiseLike<void>) => void }

/** Returns `resource`, which ends with the fixture. */
export function endWith<T extends AsyncDisposable>({ onCleanup }: Lifetime, resource: T): T {
  onCleanup(() => resource[Symbol.asyncDispose]())
  return resource
}
