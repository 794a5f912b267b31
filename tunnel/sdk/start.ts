/** Start of a bundle: becomes `window.Sentry`, initialises the SDK, and replays the loader's queue. */

import {
  type BrowserOptions,
  getClient,
  getCurrentScope,
  init as initSdk,
  makeFetchTransport,
  type ReportDialogOptions,
} from '@sentry/browser'
import type { Integration } from '@sentry/core'
import { lateIntegration } from './add-ons.ts'
import { replayError } from './early-errors/replay-error.ts'
import { replayStoredQueues } from './early-errors/stored-queue.ts'
import type { Handover, Queued } from './handover.ts'
import { clearStored, storeName } from './offline/local.ts'
import { maySave, optionsOf, withPrivacy } from './options.ts'
import { globalOf } from './page.ts'
import { showReportDialog } from './report-dialog.ts'
import { bundlePayload } from './script.ts'
import { STACK_LINES } from './stack-lines.ts'
import { MAX_BUFFERED, makeTransport } from './transport.ts'

type Result = 'done' | 'failed'
type Functions = Record<string, unknown>
/** Colours of the feedback button, which the report dialog has, too. */
type FeedbackTheme = { colorScheme?: string; themeLight?: object; themeDark?: object }
type Page = Window & { Sentry?: Functions; sentryOnLoad?: unknown }

/** Data that no report contains unless the page asks for it. Version 11 collects all of it by default. */
const DATA_COLLECTION = { userInfo: false, cookies: false, httpHeaders: false, httpBodies: [] }

/** `api` are the functions of the bundle. `tracing` makes its integration for traces, if it has one. */
export function start(api: Functions, tracing: (() => Integration) | undefined): void {
  const page = window as unknown as Page
  const handover = bundlePayload<Handover>()
  if (!handover) {
    console.warn('Culvert: load sdk.js, which loads this bundle')
    return
  }
  handover.end()
  const stub = (globalOf('Sentry') ?? {}) as Functions
  const { logger, metrics } = stub
  const groups = {
    logger: Object.assign(logger ?? {}, api.logger),
    metrics: Object.assign(metrics ?? {}, api.metrics),
  }
  const sdk = Object.assign(stub, api, groups, functionsOf(handover, tracing))
  page.Sentry = sdk
  const sentryOnLoad = globalOf('sentryOnLoad')
  const first = typeof sentryOnLoad === 'function' ? [() => sentryOnLoad()] : []
  const isInit = (item: Queued) => 'call' in item && item.call === 'init'
  const inits = handover.queue.filter(isInit).map((item) => () => replay(sdk, item))
  const results = [...first, ...handover.callbacks, ...inits].map(attempt)
  page.sentryOnLoad = undefined
  startUnlessStarted(sdk, results)
  const store = storeName(handover.config.query)
  if (getClient()) replayStoredQueues(store, (item) => attempt(() => replay(sdk, item)))
  for (const item of handover.queue) if (!isInit(item)) attempt(() => replay(sdk, item))
}

/** Initialises the SDK with the operator's options, unless the page has tried: reports without the page's `beforeSend` may be private. */
function startUnlessStarted(sdk: { init(): unknown }, results: Result[]): void {
  if (getClient()) return
  if (results.includes('failed'))
    console.error('Culvert: nothing is reported, because the code of this page that starts Sentry has failed')
  else attempt(() => sdk.init())
}

/** Functions that differ from the SDK's own. */
function functionsOf(handover: Handover, tracing: (() => Integration) | undefined) {
  const { nonce, config } = handover
  const nonces = nonce ? { styleNonce: nonce, scriptNonce: nonce } : {}
  const replayIntegration = (options = {}) => lateIntegration('replay', handover, options)
  let theme: FeedbackTheme = {}
  const feedbackIntegration = (options: FeedbackTheme = {}) => {
    const { colorScheme = 'system', themeLight = {}, themeDark = {} } = options
    theme = { colorScheme, themeLight, themeDark }
    return lateIntegration('feedback', handover, { ...nonces, ...options })
  }

  const defaults = {
    transport: maySave(handover.attributes) ? makeTransport : makeFetchTransport,
    stackParser: STACK_LINES,
    dataCollection: DATA_COLLECTION,
    ...optionsOf(handover),
  }

  function init(pageOptions: BrowserOptions = {}) {
    const { privacy } = config
    const options = withPrivacy({ ...defaults, ...pageOptions }, privacy)
    const transportOptions = { bufferSize: MAX_BUFFERED, ...options.transportOptions, privacy }
    return initSdk({ ...options, transportOptions, ...integrationsFor(options) })
  }

  /** Adds the integrations that the options need to those of the page. A function of the page decides alone. */
  function integrationsFor(options: BrowserOptions): Pick<BrowserOptions, 'integrations'> {
    const { integrations: own = [] } = options
    if (!Array.isArray(own)) return {}
    const { tracesSampleRate, tracesSampler, replaysSessionSampleRate, replaysOnErrorSampleRate } = options
    const isTraced = tracesSampleRate !== undefined || tracesSampler !== undefined
    const needed = [
      ...(tracing && isTraced ? [tracing()] : []),
      ...(replaysSessionSampleRate || replaysOnErrorSampleRate ? [replayIntegration()] : []),
      ...(config.feedback ? [feedbackIntegration()] : []),
    ]
    return { integrations: [...own, ...needed.filter(({ name }) => !own.some((each) => each.name === name))] }
  }

  return {
    init,
    replayIntegration,
    feedbackIntegration,
    showReportDialog: (options?: ReportDialogOptions) =>
      showReportDialog(handover, { ...nonces, ...theme }, options),
    clearStoredReports: () => clearStored(storeName(config.query)),
    onLoad: (callback: () => void) => callback(),
    forceLoad: () => {},
    configureScope: (callback: (scope: unknown) => void) => callback(getCurrentScope()),
  }
}

function replay(sdk: Functions, item: Queued): void {
  if (!('call' in item)) replayError(item)
  else {
    const [name = '', method] = item.call.split('.')
    const group = method === undefined ? sdk : (sdk[name] as Functions) // `logger` or `metrics`
    const call = group[method ?? name]
    if (typeof call === 'function') call(...item.args)
  }
}

/** Calls code of the page, whose errors must not keep the rest from being replayed. */
function attempt(callback: () => unknown): Result {
  try {
    callback()
    return 'done'
  } catch (error) {
    console.error(error)
    return 'failed'
  }
}
