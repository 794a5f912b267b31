/** What the parts of the server share: Next bundles pages, routes and start-up apart, and each has modules of its own. */

/** The one thing of this name in the process, made when it is first asked for. */
export function shared<Thing>(name: string, make: () => Thing): Thing {
  const things = globalThis as { [key: symbol]: Thing | undefined }
  const key = Symbol.for(`culvert ${name}`)
  things[key] ??= make()
  return things[key]
}
