/** Values that exist once per process. Next.js bundles modules several times: for pages, routes and the start. */

const STORE: unique symbol = Symbol.for('culvert.singletons')
const store = globalThis as typeof globalThis & { [STORE]?: Map<string, unknown> }

/** Returns the value of this name, created at the first call. */
export function processSingleton<T>(name: string, create: () => T): T {
  store[STORE] ??= new Map()
  if (!store[STORE].has(name)) store[STORE].set(name, create())
  return store[STORE].get(name) as T
}
