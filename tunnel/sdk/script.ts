/** Script elements for bundles. */

import type { BundleReference, Place } from './handover.ts'
import { createElement, globalOf, ofDocument, ownScript } from './page.ts'

/** Script element with the object that its bundle reads. */
export type BundleScript<Payload> = HTMLScriptElement & { payload?: Payload }

type TrustedTypes = {
  createPolicy(name: string, rules: { createScriptURL: (file: string) => string }): typeof rules
}

/** Bundles of which the console has a warning. */
const warnedBundles = new Set<string>()

/** Makes the place of the bundles. A page can have one policy of this name: bundles take it from the loader. */
export function makePlace(base: string, nonce: string | undefined): Place {
  const createScriptURL = (file: string) => `${base}/sdk/${file}`
  try {
    const types = globalOf('trustedTypes') as TrustedTypes | undefined
    const policy = types?.createPolicy('culvert', { createScriptURL })
    if (policy) return { base, nonce, urlOf: (file) => policy.createScriptURL(file) }
  } catch {} // the directive `trusted-types` of the page lacks this name
  return { base, nonce, urlOf: createScriptURL }
}

/**
 * Loads a bundle by the name with its hash, and always with its integrity. If that fails, it replaces the copy in the browser's cache, which
 * may be damaged, and tries again. `onFailure` gets the status of the tunnel's response, 0 without one.
 */
export function insertBundle<Payload>(
  { base, nonce, urlOf }: Place,
  [file, integrity]: BundleReference,
  payload: Payload,
  onFailure: (status: number) => void = () => {},
): void {
  insert(async () => {
    const status = await reload()
    if (status === 200) insert(() => fail(status))
    else fail(status)
  })

  function insert(onError: () => void): void {
    const script: BundleScript<Payload> = createElement('script')
    script.crossOrigin = 'anonymous'
    script.integrity = integrity
    if (nonce) script.nonce = nonce
    script.payload = payload
    script.onerror = onError
    try {
      script.src = urlOf(file)
      ;(ofDocument('head') ?? ofDocument('documentElement')).append(script)
    } catch {
      fail(200) // Trusted Types
    }
  }

  async function reload(): Promise<number> {
    try {
      const response = await fetch(`${base}/sdk/${file}`, { cache: 'reload' })
      await response.arrayBuffer() // browsers cache whole bodies
      return response.status
    } catch {
      return 0
    }
  }

  function fail(status: number): void {
    const reason = status === 200 ? ': its content was changed, or a policy of the page blocks it' : ''
    if (!warnedBundles.has(file)) console.warn(`Culvert: ${base}/sdk/${file} could not be loaded${reason}`)
    warnedBundles.add(file)
    onFailure(status)
  }
}

/** Returns the payload of the bundle that calls this. */
export function bundlePayload<Payload>(): Payload | undefined {
  return (ownScript() as BundleScript<Payload> | null)?.payload
}
