/** Integrations that are loaded after the page, each from a bundle of its own. */

import { SDK_VERSION } from '@sentry/browser'
import type { Client, Integration } from '@sentry/core'
import type { AddOn, BundleReference } from './handover.ts'
import { bundlePayload, insertBundle, type Place } from './script.ts'

type MakeIntegration = (options: object) => Integration
type Provide = (make: MakeIntegration, version: string) => void

/** References to the bundles, replaced by the build. */
declare const CULVERT_ADD_ONS: Readonly<Record<AddOn, BundleReference>>

/** Gives an integration to the bundle that has loaded this one. */
export function provide(make: MakeIntegration): void {
  bundlePayload<Provide>()?.(make, SDK_VERSION)
}

/** Loads the integration of a bundle. One of another version of the SDK has no access to the client of this one. */
export function loadAddOn(
  place: Place,
  addOn: AddOn,
  onLoaded: (make: MakeIntegration) => void,
  onFailure?: () => void,
): void {
  const receive: Provide = (make, version) => {
    if (version === SDK_VERSION) return onLoaded(make)
    console.warn(`Culvert: ${place.base}/sdk/${addOn}.js is of another release; reload the page`)
    onFailure?.()
  }
  insertBundle(place, addOn, CULVERT_ADD_ONS[addOn], receive, onFailure)
}

/** Makes an integration that loads the real one after the page, with the same options. */
export function lateIntegration(addOn: AddOn, place: Place, options: object): Integration {
  return {
    name: `Late${addOn}`,
    setup(client: Client) {
      afterThePage(() => loadAddOn(place, addOn, (make) => client.addIntegration(make(options))))
    },
  }
}

function afterThePage(callback: () => void): void {
  if (document.readyState === 'complete') callback()
  else addEventListener('load', callback, { once: true })
}
