/** What this process holds once. Next bundles a module for pages, routes and the start each by itself; this they share. */

const store = globalThis as typeof globalThis & { [HELD]?: Map<string, unknown> }
const HELD: unique symbol = Symbol.for('culvert.held')

/** The one of this name, made when it is first asked for. */
export function held<T>(name: string, make: () => T): T {
  store[HELD] ??= new Map()
  if (!store[HELD].has(name)) store[HELD].set(name, make())
  return store[HELD].get(name) as T
}
