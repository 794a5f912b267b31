/** Runs in the page: starts the SDK, raises errors, and counts the reports that the SDK passes to `fetch`. */

import type { captureException, init, makeFetchTransport, replayIntegration } from '@sentry/browser'
import { reportIdOf } from './report-id.ts'

/** The part of an SDK that is used here, the same in every version. */
type Sdk = {
  init: typeof init
  captureException: typeof captureException
  makeFetchTransport: typeof makeFetchTransport
  replayIntegration: typeof replayIntegration
}

export type Counts = {
  /** Errors that happened. */
  raised: number
  /** Events that the SDK captured; equal consecutive errors are one event. */
  captured: number
  /** Ids of the reports that the SDK passed to `fetch`. It drops reports beyond its buffer of 40. */
  sent: string[]
  /** Ids of the reports for which `fetch` failed. */
  failed: string[]
  /** Messages of the failures of `fetch`. */
  failures: string[]
}

/** Errors to raise when a page closes: `together` errors of `bytes` each. */
export type Leaving = { label: string; bytes: number; together: number }

declare global {
  interface Window {
    delivery: PageReporter
  }
}

const REPLAY_INTERVAL_MS = 1000 // 5 s by default
const nativeFetch = window.fetch.bind(window)

/** Starts reporting with the settings in the URL's fragment: `dsn`, `tunnel` and `replay`. */
export function startReporting(sdk: Sdk): void {
  window.delivery = new PageReporter(sdk)
}

/** Raises errors in this page and its tabs, which share their counts. */
class PageReporter {
  readonly counts: Counts
  readonly #sdk: Sdk
  readonly #tabs: Window[] = []
  readonly #onLoad = new Map<Window, () => void>()
  #pending = 0
  #isOver = false

  constructor(sdk: Sdk) {
    const opener: Window | null = window.opener
    const none: Counts = { raised: 0, captured: 0, sent: [], failed: [], failures: [] }
    this.#sdk = sdk
    this.counts = opener?.delivery.counts ?? none
    this.#initSdk(new URLSearchParams(location.hash.slice(1)))
    if (opener) addEventListener('load', () => opener.delivery.tabLoaded(window))
  }

  #initSdk(settings: URLSearchParams): void {
    const tunnel = settings.get('tunnel')
    const replay = {
      flushMinDelay: REPLAY_INTERVAL_MS,
      flushMaxDelay: REPLAY_INTERVAL_MS,
      minReplayDuration: 0,
    }
    this.#sdk.init({
      dsn: settings.get('dsn') ?? '',
      ...(tunnel && { tunnel }),
      transport: (options) =>
        this.#sdk.makeFetchTransport(options, (url, init) => this.#countedFetch(url, init)),
      beforeSend: (event) => {
        this.counts.captured++
        return event
      },
      ...(settings.has('replay') && {
        replaysSessionSampleRate: 1,
        integrations: [this.#sdk.replayIntegration(replay)],
      }),
    })
  }

  async #countedFetch(url: RequestInfo | URL, options?: RequestInit): Promise<Response> {
    const id = reportIdOf(textOf(options?.body))
    if (id !== undefined) this.counts.sent.push(id)
    this.#pending++
    try {
      return await nativeFetch(url, options)
    } catch (error) {
      if (id !== undefined) this.counts.failed.push(id)
      const keepalive = options?.keepalive ? ', kept alive' : ''
      this.counts.failures.push(`${error} with ${this.#pending} pending${keepalive}`)
      throw error
    } finally {
      this.#pending--
    }
  }

  /** Raises uncaught errors one after the other, at least `min`, until `end`. */
  async raiseSteadily(label: string, min: number, intervalMs: number): Promise<void> {
    for (let i = 0; i < min || !this.#isOver; i++) {
      this.counts.raised++
      setTimeout(() => {
        throw new Error(`${label} ${i}`)
      })
      await pause(intervalMs)
    }
  }

  raiseAtOnce(label: string, count: number): void {
    for (let i = 0; i < count; i++) {
      this.counts.raised++
      reportError(new Error(`${label} ${i}`))
    }
  }

  /** Raises errors when this page closes. */
  raiseOnLeaving({ label, bytes, together }: Leaving): void {
    addEventListener('pagehide', () => {
      for (let i = 0; i < together; i++) {
        this.counts.raised++
        this.#sdk.captureException(new Error(`${label} ${i}`), { extra: { state: 'x'.repeat(bytes) } })
      }
    })
  }

  /** Opens this page in tabs of the same process, and waits until all have loaded. */
  async openTabs(count: number): Promise<void> {
    await Promise.all(Array.from({ length: count }, () => this.#openTab()))
  }

  #openTab(): Promise<void> {
    return new Promise((resolve) => {
      const tab = window.open(location.href)
      if (!tab) throw new Error('Chromium opens no tab')
      this.#tabs.push(tab)
      this.#onLoad.set(tab, resolve)
    })
  }

  /** Called by a tab when it has loaded. */
  tabLoaded(tab: Window): void {
    this.#onLoad.get(tab)?.()
  }

  stormInTabs(label: string, count: number): void {
    for (const [i, tab] of this.#tabs.entries()) tab.delivery.raiseAtOnce(`${label} in tab ${i}`, count)
  }

  /** Changes the page, for a replay to record, until `end`. */
  async moveAbout(): Promise<void> {
    while (!this.#isOver) {
      document.body.append(`${Math.round(performance.now())} `)
      await pause(100)
    }
  }

  end(): void {
    this.#isOver = true
  }

  /** Returns the number of pending requests of this page and its tabs. */
  pendingAll(): number {
    return this.#pending + this.#tabs.reduce((sum, { delivery }) => sum + delivery.pendingAll(), 0)
  }
}

function textOf(body: BodyInit | null | undefined): string {
  return body instanceof Uint8Array ? new TextDecoder('latin1').decode(body) : String(body)
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
