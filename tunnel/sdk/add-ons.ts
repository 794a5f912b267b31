/** Integrations that are loaded after the page, each from a bundle of its own. */

import type { Client, Integration } from '@sentry/core'
import type { AddOn, BundleReference } from './handover.ts'
import { givenToBundle, insertBundle, type Place } from './script.ts'

type MakeIntegration = (options: object) => Integration

/** References to the bundles, replaced by the build. */
declare const CULVERT_ADD_ONS: Readonly<Record<AddOn, BundleReference>>

/** Gives an integration to the bundle that has loaded this one. */
export function provide(make: MakeIntegration): void {
  givenToBundle<(make: MakeIntegration) => void>()?.(make)
}

/** Makes an integration that loads the real one after the page, with the same options. */
export function lateIntegration(addOn: AddOn, place: Place, options: object): Integration {
  return {
    name: `Late${addOn}`,
    setup(client: Client) {
      const onProvided = (make: MakeIntegration) => client.addIntegration(make(options))
      afterThePage(() => insertBundle(place, addOn, CULVERT_ADD_ONS[addOn], onProvided))
    },
  }
}

function afterThePage(act: () => void): void {
  if (document.readyState === 'complete') act()
  else addEventListener('load', act, { once: true })
}
