/** Starts the browser's Sentry SDK, before anything of the page runs. */

import { startBrowserSdk } from './lib/browser-sdk.ts'
import { readBrowserSettings, settingsAt } from './lib/browser-settings.ts'

const settings = readBrowserSettings(document)
if (settings) startBrowserSdk(settingsAt(location.pathname, settings))

export { onRouterTransitionStart } from './lib/late-integrations.ts'
