/** Types that the server, the loader and the bundles agree on. */

import type { EarlyError } from './early-errors/record.ts'

/** File of a bundle below `<tunnel path>/sdk/`, and its integrity as in the attribute of a script. */
export type BundleReference = readonly [file: string, integrity: string]

/** Bundle that a page starts with. `tracing` contains `errors`. */
export type FirstBundle = 'errors' | 'tracing'

/** Bundle that is loaded after the page, if its integration is used. */
export type AddOn = 'replay' | 'feedback'

export type LoaderConfig = {
  /** First tunnel path, for a loader that does not know its own URL. */
  path: string
  /** Query of the tunnel URL, with its question mark. */
  query: string
  bundles: Readonly<Record<FirstBundle, BundleReference>>
  options: LoaderOptions
  /** Shows a feedback button. */
  feedback: boolean
  /** Reports about visitors with `navigator.globalPrivacyControl`. */
  privacy: 'off' | 'errors' | 'mark'
}

/** Configuration of the reach test. */
export type ReachConfig = {
  /** Share of page loads that test. */
  rate: number
  /** URL that an SDK without a tunnel posts to. */
  url: string
  /** First tunnel path, for a script that does not know its own URL, and query of the tunnel URL. */
  path: string
  query: string
}

/** Options of `Sentry.init` that the operator has set. */
export type LoaderOptions = {
  dsn: string
  environment: string
  release?: string
  sampleRate?: number
  tracesSampleRate?: number
  replaysSessionSampleRate?: number
  replaysOnErrorSampleRate: number
}

/** Event that happened before the bundle was loaded: a call to `Sentry.*`, an error, or a rejection. */
export type Queued = { call: string; args: unknown[] } | EarlyError

/** Place of the bundles. */
export type Place = {
  /** URL of the tunnel path, without a final slash. */
  base: string
  /** Nonce of the page's Content-Security-Policy. */
  nonce: string | undefined
  /** Returns the URL of a bundle, as a `TrustedScriptURL` where the browser has Trusted Types. */
  urlOf: (file: string) => string
}

/** Object that the loader gives to a bundle. */
export type Handover = Place & {
  config: LoaderConfig
  /** Attributes `data-*` of the loader's script element. */
  attributes: Readonly<Record<string, string | undefined>>
  queue: readonly Queued[]
  callbacks: readonly (() => void)[]
  /** Stops queueing. */
  end(): void
}
