/** Starts the browser's Sentry SDK, before anything of the page runs. */

import { captureRouterTransitionStart } from '@sentry/nextjs'
import { startBrowserSdk } from './lib/browser-sdk.ts'
import { readBrowserSettings } from './lib/browser-settings.ts'

const settings = readBrowserSettings(document)
if (settings) startBrowserSdk(settings)

export const onRouterTransitionStart = captureRouterTransitionStart
