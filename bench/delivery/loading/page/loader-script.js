/**
 * Stand-in for Sentry's Loader Script: it has the documented behaviour, and is written for this benchmark. It queues errors, rejections
 * and calls, loads the bundle from `browser.sentry-cdn.com` with the next task, as with `data-lazy="no"`, and replays the queue.
 */

const BUNDLE = 'CDN_BUNDLE_URL'
const OPTIONS = { dsn: 'CDN_DSN' }

const queue = []
const callbacks = []
const onError = (event) => queue.push({ error: event })
const onRejection = (event) => queue.push({ rejection: event })

window.Sentry = window.Sentry || {}
window.Sentry.onLoad = (callback) => callbacks.push(callback)
window.Sentry.forceLoad = () => {}
for (const call of [
  'init',
  'addBreadcrumb',
  'captureMessage',
  'captureException',
  'captureEvent',
  'withScope',
  'showReportDialog',
])
  window.Sentry[call] = (...args) => queue.push({ call, args })
addEventListener('error', onError)
addEventListener('unhandledrejection', onRejection)
setTimeout(loadBundle)

function loadBundle() {
  const script = document.createElement('script')
  script.src = BUNDLE
  script.crossOrigin = 'anonymous'
  script.addEventListener('load', replay)
  document.head.append(script)
}

function replay() {
  const sdk = window.Sentry
  const init = sdk.init
  sdk.init = (options) => {
    removeEventListener('error', onError)
    removeEventListener('unhandledrejection', onRejection)
    return init({ ...OPTIONS, ...options })
  }
  window.sentryOnLoad?.()
  for (const callback of callbacks) callback()
  for (const { call, args } of queue) if (call === 'init') sdk.init(...args)
  if (!sdk.isInitialized()) sdk.init()
  for (const { call, args, error, rejection } of queue) {
    if (error) window.onerror?.(error)
    else if (rejection) window.onunhandledrejection?.(rejection)
    else if (call !== 'init') sdk[call](...args)
  }
}
