/** Script elements for bundles. */

import type { BundleReference } from './handover.ts'

/** URL of a tunnel path, and the nonce of the page's Content-Security-Policy. */
export type Place = { base: string; nonce: string | undefined }

/** Script element with the object that its bundle reads. */
export type BundleScript<Payload> = HTMLScriptElement & { payload?: Payload }

/** Bundles of which the console has a warning. */
const warnedBundles = new Set<string>()

/**
 * Loads a bundle by the name with its hash, and with its integrity. If the tunnel has no file of this name, it loads the bundle of the
 * tunnel's release by the plain name: during an upgrade, and for a loader in a cache. A bundle that fails its integrity is not replaced.
 */
export function insertBundle<Payload>(
  { base, nonce }: Place,
  name: string,
  [file, integrity]: BundleReference,
  payload: Payload,
  onFailure: () => void = () => {},
): void {
  insert(file, integrity, async () => {
    const status = await fetch(`${base}/sdk/${file}`, { method: 'HEAD' }).then(
      (response) => response.status,
      () => 0,
    )
    if (status === 404) insert(`${name}.js`, '', () => fail(`${name}.js`))
    else fail(file, status === 200 ? ': its content was changed, or a policy of the page blocks it' : '')
  })

  function insert(source: string, hash: string, onError: () => void): void {
    const script: BundleScript<Payload> = document.createElement('script')
    script.src = `${base}/sdk/${source}`
    script.crossOrigin = 'anonymous'
    if (hash) script.integrity = hash
    if (nonce) script.nonce = nonce
    script.payload = payload
    script.onerror = onError
    ;(document.head ?? document.documentElement).append(script)
  }

  function fail(source: string, reason = ''): void {
    if (!warnedBundles.has(name)) console.warn(`Culvert: ${base}/sdk/${source} could not be loaded${reason}`)
    warnedBundles.add(name)
    onFailure()
  }
}

/** Returns the payload of the bundle that calls this. */
export function bundlePayload<Payload>(): Payload | undefined {
  return (document.currentScript as BundleScript<Payload> | null)?.payload
}
