/** Loader: queues errors and calls to `Sentry.*` from the first moment, and loads a bundle, which replays them. */

import { parameterize } from '@sentry/core'
import { type EarlyError, recordErrors } from './early-errors/record.ts'
import { storeQueue } from './early-errors/stored-queue.ts'
import type { BundleReference, FirstBundle, Handover, LoaderConfig, Queued } from './handover.ts'
import { clearStored, storeName } from './offline/local.ts'
import { maySave } from './options.ts'
import { asksForPrivacy, globalOf, ownScript } from './page.ts'
import { insertBundle, makePlace } from './script.ts'

/** Replaced by the server. */
declare const CULVERT_CONFIG: LoaderConfig

/** Stub of the SDK, which becomes the SDK: a page may keep a reference to it. */
type Stub = Record<string, unknown>
type Functions = Record<string, (...args: unknown[]) => unknown>
type Page = Window & { Sentry?: Stub; [LOADED]?: true }

/** Set on `window` by the first loader. */
const LOADED = Symbol.for('culvert')

/** Bound of reports with calls to `init`, and that of other calls. */
const MAX_QUEUED = 100
const MAX_RETRIES = 5
const METHODS =
  'init addBreadcrumb addEventProcessor addIntegration captureEvent captureException captureFeedback captureMessage captureSession configureScope setContext setExtra setExtras setTag setTags setUser showReportDialog withScope logger.trace logger.debug logger.info logger.warn logger.error logger.fatal metrics.count metrics.gauge metrics.distribution'

const page: Page = window
const config = CULVERT_CONFIG
const own = ownScript()
const attributes = { ...own?.dataset }
const base = /^(.+)\/sdk\.js(?:[?#]|$)/.exec(own?.src ?? '')?.[1] ?? location.origin + config.path
const place = makePlace(base, own?.nonce)
const store = storeName(config.query)
const bundles = { ...config.bundles }
const isOff = config.privacy === 'off' && asksForPrivacy()
const isLazy = attributes.lazy !== undefined && attributes.lazy !== 'no'
const queue: Queued[] = []
const free = { reports: MAX_QUEUED, others: MAX_QUEUED }
const callbacks: (() => void)[] = []
let isLoading = isOff
let retries = 0
let hasEnded = false
let stopRecording = () => {}

function add(item: Queued): void {
  const kind = 'call' in item && !/^(init|capture|showR)/.test(item.call) ? 'others' : 'reports'
  if (free[kind]-- > 0) queue.push(item)
}

function onError(error: EarlyError): void {
  add(error)
  load()
}

function load(): void {
  if (isLoading) return
  isLoading = true
  setTimeout(request) // the scripts of the page come first
}

function request(): void {
  const rate = attributes.tracesSampleRate ?? config.options.tracesSampleRate
  const name = rate === undefined ? 'errors' : 'tracing'
  const handover: Handover = { config, ...place, attributes, queue, callbacks, end }
  insertBundle(place, bundles[name], handover, (status) => retry(name, status))
}

async function retry(name: FirstBundle, status: number): Promise<void> {
  if (status === 404) await refresh(name)
  if (navigator.onLine && retries < MAX_RETRIES) setTimeout(request, 2000 * 2 ** retries++)
  else addEventListener('online', request, { once: true })
}

/** Takes the name and integrity of a bundle from the tunnel's own loader: this one came from a cache, or from before an upgrade. */
async function refresh(name: FirstBundle): Promise<void> {
  try {
    const response = await fetch(own?.src || `${base}/sdk.js`, { cache: 'reload' })
    const [, reference] = RegExp(`"${name}":(\\[.+?\\])`).exec(await response.text()) ?? []
    if (reference) bundles[name] = JSON.parse(reference) as BundleReference
  } catch {} // it tries again
}

function leave(): void {
  if (!hasEnded && maySave(attributes)) storeQueue(store, queue)
}

function end(): void {
  hasEnded = true
  stopRecording()
}

function install(): void {
  page[LOADED] = true
  const stub = (globalOf('Sentry') ?? {}) as Stub
  page.Sentry = stub
  for (const call of METHODS.split(' ')) {
    const [name = '', method] = call.split('.')
    const queueCall = (...args: unknown[]): unknown => {
      // The stub is the SDK now: the page has kept this function.
      if (hasEnded) return ((method ? stub[name] : stub) as Functions)[method ?? name]?.(...args)
      add({ call, args })
      if (/^(capture|showR)/.test(call)) load()
    }
    stub[name] = method ? { ...(stub[name] ?? {}), [method]: queueCall } : queueCall
  }
  stub.logger = { ...(stub.logger ?? {}), fmt: parameterize }
  stub.onLoad = (callback: () => void) => {
    callbacks.push(callback)
  }
  stub.forceLoad = load
  stub.clearStoredReports = () => clearStored(store)
  if (isOff || !maySave(attributes)) void clearStored(store)
  if (!isOff) {
    stopRecording = recordErrors(onError)
    addEventListener('pagehide', leave)
  }
  if (!isLazy) load()
}

if (globalOf(LOADED)) console.warn('Culvert: this page has sdk.js more than once')
else install()
