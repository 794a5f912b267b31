/** Report dialog: the form of the feedback integration, with the texts, the order and the behaviour of the dialog of Sentry's host. */

import { type feedbackIntegration, getClient, type ReportDialogOptions, withScope } from '@sentry/browser'
import { createElement, ofDocument } from '../page.ts'
import { chooseLanguage, type Texts, textsFor } from './texts.ts'

type Feedback = ReturnType<typeof feedbackIntegration>

/** Integration of the bundle `feedback`. */
export type FeedbackWithReportForm = Feedback & {
  /** Opens the report dialog. Its feedback names the event. */
  openReportForm(eventId: string, options: ReportDialogOptions): Promise<void>
}

export function withReportForm(feedback: Feedback): FeedbackWithReportForm {
  return { ...feedback, openReportForm: (eventId, options) => openForm(feedback, eventId, options) }
}

const ID = 'culvert-report-dialog'
const FORM = {
  id: ID,
  autoInject: false,
  showBranding: false,
  enableScreenshot: false,
  useSentryUser: { email: 'email', name: 'name' },
  namePlaceholder: '',
  emailPlaceholder: '',
  messagePlaceholder: '',
}

/** Property of `window` with the element of the open form: each form has a bundle of its own. */
const OPENED = Symbol.for('culvert.report-form')

type Page = Window & { [OPENED]?: Element }

/** Rejects with an error that says why there is no dialog. */
async function openForm(feedback: Feedback, eventId: string, options: ReportDialogOptions): Promise<void> {
  const page: Page = window
  if (page[OPENED]?.isConnected) throw new Error('another one is open')
  const { lastElementChild: last } = ofDocument('body')
  try {
    await showForm(feedback, eventId, options)
  } catch (error) {
    const { lastElementChild: added } = ofDocument('body')
    if (added !== last && added?.id === ID) added.remove()
    throw new Error('it could not be opened', { cause: error })
  }
  options.onLoad?.()
}

async function showForm(feedback: Feedback, eventId: string, options: ReportDialogOptions): Promise<void> {
  const page: Page = window
  const pageLanguage = ofDocument('documentElement').lang
  const language = chooseLanguage([options.lang, pageLanguage, ...navigator.languages])
  const texts = textsFor(language, options)
  const focused = ofDocument('activeElement')
  const onEnd = () => {
    page[OPENED]?.remove()
    if (ofDocument('activeElement') === ofDocument('body') && focused instanceof HTMLElement) focused.focus()
    options.onClose?.()
  }
  const form = await withScope((scope) => {
    scope.setUser({ ...scope.getUser(), ...options.user })
    return feedback.createForm({ ...FORM, ...labelsOf(texts), onFormClose: onEnd, onFormSubmitted: onEnd })
  })
  form.appendToDom()
  form.open()
  const content = form.el as HTMLElement
  const root = content.getRootNode()
  if (!(root instanceof ShadowRoot) || !(root.host instanceof HTMLElement))
    throw new Error('the form is not in the page')
  const { host } = root
  page[OPENED] = host
  host.lang = language
  host.dir = language === 'ar' ? 'rtl' : 'ltr'
  content.ariaLive = 'polite' // errors, and the message at the end
  completeForm(content, texts)
  linkSubmissions(content, eventId)
  showAsModal(content.querySelector('dialog'), texts, () => {
    form.close()
    onEnd()
  })
}

/** Adds the ID of the event to the feedback of this form, but not to that of a feedback button. The form sends it in a microtask. */
function linkSubmissions(form: HTMLElement, eventId: string): void {
  const link = () => {
    const stopLinking = getClient()?.on('beforeSendFeedback', ({ contexts }) => {
      contexts.feedback.associated_event_id = eventId
    })
    setTimeout(() => stopLinking?.())
  }
  form.addEventListener('submit', link, { capture: true }) // before the listener of the form
}

/** Returns the texts under their names in the form. */
function labelsOf(texts: Texts) {
  return {
    formTitle: texts.title,
    nameLabel: texts.labelName,
    emailLabel: texts.labelEmail,
    messageLabel: texts.labelComments,
    cancelButtonLabel: texts.labelClose,
    submitButtonLabel: texts.labelSubmit,
    isRequiredLabel: texts.required,
    errorGenericText: texts.errorGeneric,
    errorForbiddenText: texts.errorGeneric,
    errorTimeoutText: texts.errorGeneric,
    errorNoClientText: texts.errorGeneric,
    errorEmptyMessageText: texts.errorFormEntry,
    successMessageText: texts.successMessage,
  }
}

/** Adds the subtitles, and the text for an empty message, which the form has in English only. */
function completeForm(form: HTMLElement, { subtitle, subtitle2, errorFormEntry }: Texts): void {
  const paragraph = createElement('p')
  paragraph.textContent = `${subtitle} ${subtitle2}`
  paragraph.style.margin = '0 0 16px'
  form.querySelector('h2')?.after(paragraph)
  const message = form.querySelector('textarea')
  const validate = () => message?.setCustomValidity(message.value.trim() ? '' : errorFormEntry)
  message?.addEventListener('input', validate)
  validate()
}

/** Keeps the focus in the dialog, and closes it with the Escape key. */
function showAsModal(dialog: HTMLDialogElement | null, { title }: Texts, onEscape: () => void): void {
  if (!dialog) return
  dialog.ariaLabel = title
  dialog.style.maxWidth = dialog.style.maxHeight = 'none' // the browser's style sheet limits modal dialogs
  dialog.addEventListener('cancel', onEscape)
  dialog.open = false
  dialog.showModal()
  dialog.querySelector('textarea')?.focus()
}
