/** Report dialog: the form of the bundle `feedback`, which this origin serves, in place of the dialog of Sentry's host. */

import type { feedbackIntegration } from '@sentry/browser'
import { getClient, lastEventId, type ReportDialogOptions, withScope } from '@sentry/browser'
import { loadAddOn } from './add-ons.ts'
import type { Place } from './script.ts'

/** Opens the form. Its feedback names the event of the options, by default the last one. */
export function showReportDialog(place: Place, nonces: object, options: ReportDialogOptions = {}): void {
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
      const feedback = make({ ...FORM, ...nonces }) as ReturnType<typeof feedbackIntegration>
      openForm(feedback, eventId, options).catch(() => fail('it could not be opened'))
    },
    () => fail('it could not be loaded'),
  )
}

const ID = 'culvert-report-dialog'
const FORM = {
  id: ID,
  autoInject: false,
  showBranding: false,
  enableScreenshot: false,
  useSentryUser: { email: 'email', name: 'name' },
}

async function openForm(
  feedback: ReturnType<typeof feedbackIntegration>,
  eventId: string,
  options: ReportDialogOptions,
): Promise<void> {
  if (document.getElementById(ID)) return // one at a time
  const stopLinking = getClient()?.on('beforeSendFeedback', ({ contexts }) => {
    contexts.feedback.associated_event_id = eventId
  })
  const onEnd = () => {
    stopLinking?.()
    document.getElementById(ID)?.remove()
    options.onClose?.()
  }
  const form = await withScope((scope) => {
    scope.setUser({ ...scope.getUser(), ...options.user })
    return feedback.createForm({ ...labelsOf(options), onFormClose: onEnd, onFormSubmitted: onEnd })
  })
  form.appendToDom()
  form.open()
  options.onLoad?.()
}

/** Returns the texts of the options under their names in the form. */
function labelsOf(options: ReportDialogOptions): Record<string, string> {
  const labels = {
    formTitle: options.title,
    nameLabel: options.labelName,
    emailLabel: options.labelEmail,
    messageLabel: options.labelComments,
    cancelButtonLabel: options.labelClose,
    submitButtonLabel: options.labelSubmit,
    errorGenericText: options.errorGeneric,
    errorEmptyMessageText: options.errorFormEntry,
    successMessageText: options.successMessage,
  }
  return Object.fromEntries(Object.entries(labels).flatMap(([name, text]) => (text ? [[name, text]] : [])))
}
