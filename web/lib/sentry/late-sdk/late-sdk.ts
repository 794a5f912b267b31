/** SDK that is loaded after the first scripts of the page, and reports the errors from before. */

import { recordErrors } from 'tunnel/early-errors'
import type { BrowserSettings } from '../browser-config.ts'
import type { EarlyReport } from './early-report.ts'
import { sendWithoutSdk } from './send-without-sdk.ts'

/** Functions of the loaded SDK. */
export type Sdk = {
  /** Starts it, and reports what happened before. `dropped` counts the errors beyond `MAX_EARLY`. */
  startBrowserSdk(settings: BrowserSettings, early: readonly EarlyReport[], dropped: number): void
  captureException(exception: unknown): string
  onRouterTransitionStart(href: string, type: string): void
}

/** Most errors that are kept. The transport of the SDK accepts 40 posts at once, and sends sessions and client reports too. */
const MAX_EARLY = 30
const MAX_RETRIES = 5
const FIRST_DELAY_MS = 2_000

export class LateSdk {
  readonly #load: () => Promise<Sdk>
  #sdk: Sdk | undefined
  #early: EarlyReport[] = []
  #dropped = 0
  #isRecording = false
  #started: Promise<void> = Promise.resolve()

  constructor(load: () => Promise<Sdk>) {
    this.#load = load
  }

  /** Records errors from now on, and loads the SDK. */
  start(settings: BrowserSettings): void {
    this.#isRecording = true
    const stopRecording = recordErrors((error) => this.#keep(error))
    const onPageHide = () => {
      sendWithoutSdk(this.#takeEarly(), this.#dropped, settings)
      this.#dropped = 0
    }
    addEventListener('pagehide', onPageHide)
    this.#started = this.#loadWithRetries().then((sdk) => {
      // One task: no error happens between the end of the recording and the start of the SDK's handlers.
      stopRecording()
      removeEventListener('pagehide', onPageHide)
      sdk.startBrowserSdk(settings, this.#takeEarly(), this.#dropped)
      this.#sdk = sdk
    })
  }

  /** Resolves when the SDK has started; at once where nothing is reported. */
  whenStarted(): Promise<void> {
    return this.#started
  }

  /** Reports an exception that code of the page has caught. Resolves with its event ID, or `undefined` if it is not reported. */
  captureException(caught: unknown): Promise<string | undefined> {
    if (this.#sdk) return Promise.resolve(this.#sdk.captureException(caught))
    return new Promise((resolve) => this.#keep({ time: Date.now(), caught, resolve }))
  }

  onRouterTransitionStart(href: string, type: string): void {
    this.#sdk?.onRouterTransitionStart(href, type)
  }

  #keep(report: EarlyReport): void {
    if (this.#isRecording && this.#early.length < MAX_EARLY) this.#early.push(report)
    else {
      this.#dropped++
      if ('caught' in report) report.resolve()
    }
  }

  #takeEarly(): EarlyReport[] {
    return this.#early.splice(0)
  }

  /** Retries after 2, 4, 8, 16 and 32 s, then and while the browser is offline, when it is online again. */
  async #loadWithRetries(): Promise<Sdk> {
    for (let retries = 0; ; retries++)
      try {
        return await this.#load()
      } catch (error) {
        if (retries === 0) console.warn('The Sentry SDK could not be loaded', error)
        await (navigator.onLine && retries < MAX_RETRIES ? wait(FIRST_DELAY_MS * 2 ** retries) : online())
      }
  }
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

function online(): Promise<unknown> {
  return new Promise((resolve) => addEventListener('online', resolve, { once: true }))
}
