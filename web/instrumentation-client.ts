/** Starts the browser's Sentry SDK, before anything of the page runs. */

import { captureRouterTransitionStart } from '@sentry/nextjs'
import { startBrowserSdk } from './lib/browser-sdk.ts'
import { readBrowserSettings, settingsAt } from './lib/browser-settings.ts'

const settings = readBrowserSettings(document)
if (settings) startBrowserSdk(settingsAt(location.pathname, settings))

export const onRouterTransitionStart = captureRouterTransitionStart
