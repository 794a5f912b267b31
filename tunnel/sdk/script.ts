/** Script elements for bundles. */

import type { BundleReference } from './handover.ts'

/** URL of a tunnel path, and the nonce of the page's Content-Security-Policy. */
export type Place = { base: string; nonce: string | undefined }

/** Object that a bundle finds as the property `given` of its script element. */
export type BundleScript<Given> = HTMLScriptElement & { given?: Given }

/** Names of bundles whose failure the console has. */
const told = new Set<string>()

/**
 * Loads a bundle by the hash in its name. When that fails it loads the bundle of this name that the tunnel has now: during an upgrade,
 * and for a loader in a cache, that is one of another release.
 */
export function insertBundle<Given>(
  { base, nonce }: Place,
  name: string,
  [file, integrity]: BundleReference,
  given: Given,
  onFailure: () => void = () => {},
): void {
  insert(file, integrity, () =>
    insert(`${name}.js`, '', () => {
      if (!told.has(name)) console.warn(`Culvert: ${base}/sdk/${name}.js could not be loaded`)
      told.add(name)
      onFailure()
    }),
  )

  function insert(source: string, hash: string, onFailed: () => void): void {
    const script: BundleScript<Given> = document.createElement('script')
    script.src = `${base}/sdk/${source}`
    script.crossOrigin = 'anonymous'
    if (hash) script.integrity = hash
    if (nonce) script.nonce = nonce
    script.given = given
    script.onerror = onFailed
    ;(document.head ?? document.documentElement).append(script)
  }
}

/** Returns what was given to the bundle that calls this. */
export function givenToBundle<Given>(): Given | undefined {
  return (document.currentScript as BundleScript<Given> | null)?.given
}
