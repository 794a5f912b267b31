/** Starts @sentry/nextjs in the page. */

import * as Sentry from '@sentry/nextjs'
import { startReporting } from './in-page.ts'

startReporting(Sentry)

export const onRouterTransitionStart = Sentry.captureRouterTransitionStart
