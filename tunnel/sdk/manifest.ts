/** Manifest of the built SDK: the files that the tunnel serves. */

import type { AddOn, FirstBundle } from './handover.ts'

/** Folder that `tunnel/build-sdk.ts` writes, from the folder of the tunnel. */
export const SDK_FOLDER = '.sdk'

/** File of the manifest, which the build writes last. */
export const MANIFEST_FILE = 'manifest.json'

/** Template of the loader. */
export const LOADER_FILE = 'loader.js'

/** Name in the template that stands for the configuration of a project. */
export const CONFIG_NAME = 'CULVERT_CONFIG'

/** Template of the reach test, and the name in it that stands for its configuration. */
export const REACH_FILE = 'reach.js'
export const REACH_NAME = 'CULVERT_REACH'

export type BundleName = FirstBundle | AddOn

export type BundleFile = {
  /** Name with a hash of the content. `<file>.br` and `<file>.gz` are the same, compressed. */
  file: string
  /** Value of the attribute `integrity` (SHA-384). */
  integrity: string
  /** Sizes in bytes. */
  raw: number
  gzip: number
  br: number
}

export type SdkManifest = {
  /** Version of @sentry/browser. */
  version: string
  /** Hash of the sources and of the lockfile. */
  sources: string
  bundles: Readonly<Record<BundleName, BundleFile>>
}
