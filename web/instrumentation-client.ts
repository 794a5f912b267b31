/** Records errors before any other code of the page runs, and loads the browser's Sentry SDK, which reports them. */

import { readBrowserSettings, settingsAt } from './lib/sentry/browser-config.ts'
import { browserSdk } from './lib/sentry/late-sdk/browser-sdk.ts'

const settings = readBrowserSettings(document)
if (settings) browserSdk.start(settingsAt(location.pathname, settings))

export function onRouterTransitionStart(href: string, type: string): void {
  browserSdk.onRouterTransitionStart(href, type)
}
