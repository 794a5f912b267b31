/** Starts the browser's Sentry SDK, before anything of the page runs. */

import * as Sentry from '@sentry/nextjs'
import { readBrowserSettings } from './lib/browser-settings.ts'

const settings = readBrowserSettings(document)
if (settings)
  Sentry.init({
    ...settings,
    // v11 collects all of this unless told not to; it is what `sendDefaultPii: false` was.
    dataCollection: { userInfo: false, cookies: false, httpHeaders: false, httpBodies: [] },
    release: settings.release, // also when there is none: the build's own guess would be wrong for every other deployment
  })

export const onRouterTransitionStart = Sentry.captureRouterTransitionStart
