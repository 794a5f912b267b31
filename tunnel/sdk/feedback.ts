/** Bundle `feedback`: gives its integration to the bundle that has loaded it. */

import { feedbackIntegration } from '@sentry/browser'
import { provide } from './add-ons.ts'

provide(feedbackIntegration)
