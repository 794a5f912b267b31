/** Starts the browser's Sentry SDK before any code of the page. */

import { startBrowserSdk } from './lib/sentry/browser.ts'
import { readBrowserSettings, settingsAt } from './lib/sentry/browser-config.ts'

const settings = readBrowserSettings(document)
if (settings) startBrowserSdk(settingsAt(location.pathname, settings))

export { onRouterTransitionStart } from './lib/sentry/lazy-integrations.ts'
