/** Loader: queues errors and calls to `Sentry.*` from the first moment, and loads a bundle, which replays them. */

import type { Handover, LoaderConfig, Queued } from './handover.ts'
import { insertBundle } from './script.ts'

/** Replaced by the server. */
declare const CULVERT_CONFIG: LoaderConfig

/** Stub of the SDK, which becomes the SDK: a page may keep a reference to it. */
type Stub = Record<string, unknown>

const MAX_QUEUED = 100
const METHODS =
  'init addBreadcrumb addEventProcessor addIntegration captureEvent captureException captureFeedback captureMessage captureSession configureScope setContext setExtra setExtras setTag setTags setUser showReportDialog withScope'

const page = window as unknown as Window & { Sentry?: Stub }
const config = CULVERT_CONFIG
const own = document.currentScript as HTMLScriptElement | null
const attributes = { ...own?.dataset }
const nonce = own?.nonce
const base = /^(.+)\/sdk\.js(?:[?#]|$)/.exec(own?.src ?? '')?.[1] ?? config.path
const isOff =
  config.privacy === 'off' && (navigator as { globalPrivacyControl?: unknown }).globalPrivacyControl === true
const isLazy = attributes.lazy !== undefined && attributes.lazy !== 'no'
const queue: Queued[] = []
const callbacks: (() => void)[] = []
let isLoading = isOff

function add(item: Queued): void {
  if (queue.length < MAX_QUEUED) queue.push(item)
}

function onError({ message, filename, lineno, colno, error }: ErrorEvent): void {
  add({ error: { message, filename, lineno, colno, error } })
  load()
}

function onRejection(rejection: PromiseRejectionEvent): void {
  add({ rejection })
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
  const handover: Handover = { config, base, attributes, nonce, queue, callbacks, end }
  insertBundle(handover, name, config.bundles[name], handover, retryOnline)
}

function retryOnline(): void {
  if (!navigator.onLine) addEventListener('online', request, { once: true })
}

function end(): void {
  removeEventListener('error', onError)
  removeEventListener('unhandledrejection', onRejection)
}

page.Sentry ??= {}
const stub = page.Sentry
for (const call of METHODS.split(' '))
  stub[call] = (...args: unknown[]) => {
    add({ call, args })
    if (/^(capture|showR)/.test(call)) load()
  }
stub.onLoad = (callback: () => void) => {
  callbacks.push(callback)
}
stub.forceLoad = load
if (!isOff) {
  addEventListener('error', onError)
  addEventListener('unhandledrejection', onRejection)
}
if (!isLazy) load()
