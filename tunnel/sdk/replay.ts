/** Bundle `replay`: gives its integration to the bundle that has loaded it. */

import { replayIntegration } from '@sentry/browser'
import { provide } from './add-ons.ts'

provide(replayIntegration)
