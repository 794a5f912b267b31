/** Bundle `feedback`: gives its integration, with the report dialog, to the bundle that has loaded it. */

import { feedbackIntegration } from '@sentry/browser'
import { provide } from './add-ons.ts'
import { withReportForm } from './report-form/report-form.ts'

provide((options) => withReportForm(feedbackIntegration(options)))
