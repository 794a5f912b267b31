/** Report dialog: the form of the bundle `feedback`, which this origin serves, in place of the dialog of Sentry's host. */

import { getClient, lastEventId, type ReportDialogOptions } from '@sentry/browser'
import { loadAddOn } from './add-ons.ts'
import type { Place } from './handover.ts'
import type { FeedbackWithReportForm } from './report-form/report-form.ts'

/** Opens the form with the nonces and the theme of `settings`. Its feedback names the event of the options, by default the last one. */
export function showReportDialog(place: Place, settings: object, options: ReportDialogOptions = {}): void {
  const eventId = options.eventId ?? lastEventId()
  const fail = (reason: string): void => {
    console.warn(`Culvert: there is no report dialog, because ${reason}`)
    if (typeof options.onError === 'function') options.onError(new Error(reason))
  }
  if (!getClient() || !eventId) {
    fail('nothing was reported')
    return
  }
  loadAddOn(
    place,
    'feedback',
    (make) => {
      const feedback = make(settings) as FeedbackWithReportForm
      feedback.openReportForm(eventId, options).catch((error: Error) => fail(error.message))
    },
    () => fail('it could not be loaded'),
  )
}
