/** Integrations that are loaded after the page, each from a bundle of its own. */

import type { Client, Integration } from '@sentry/core'
import type { AddOn, BundleReference, Place } from './handover.ts'
import { ofDocument } from './page.ts'
import { bundlePayload, insertBundle } from './script.ts'

type MakeIntegration = (options: object) => Integration

/** References to the bundles, replaced by the build. */
declare const CULVERT_ADD_ONS: Readonly<Record<AddOn, BundleReference>>

/** Gives an integration to the bundle that has loaded this one. */
export function provide(make: MakeIntegration): void {
  bundlePayload<(make: MakeIntegration) => void>()?.(make)
}

/** Loads the integration of a bundle. */
export function loadAddOn(
  place: Place,
  addOn: AddOn,
  onLoaded: (make: MakeIntegration) => void,
  onFailure?: () => void,
): void {
  insertBundle(place, CULVERT_ADD_ONS[addOn], onLoaded, (status) => {
    if (status === 404) console.warn('Culvert: the tunnel has another release now; reload the page')
    onFailure?.()
  })
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
  if (ofDocument('readyState') === 'complete') callback()
  else addEventListener('load', callback, { once: true })
}
