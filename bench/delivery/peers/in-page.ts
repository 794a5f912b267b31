/** In the page: starts the SDK, breaks what is to be broken, and counts what the SDK hands to `fetch`. */

import type { captureException, init, makeFetchTransport, replayIntegration } from '@sentry/browser'
import { reportIdOf } from './report-id.ts'

/** What this needs of an SDK, in every version alike. */
export type Sdk = {
  init: typeof init
  captureException: typeof captureException
  makeFetchTransport: typeof makeFetchTransport
  replayIntegration: typeof replayIntegration
}

export type Counts = {
  /** Errors that happened. */
  raised: number
  /** Events that the SDK made of them: equal neighbours are one. */
  made: number
  /** What it handed to `fetch`, by report id. Its buffer holds 40; what is more it drops. */
  handed: string[]
  /** Those of them that `fetch` failed. */
  failed: string[]
  /** What it said of all that it failed. */
  failures: string[]
}

/** So many errors of so many bytes. */
export type Leaving = { label: string; bytes: number; together: number }

declare global {
  interface Window {
    delivery: ReturnType<typeof startReporting>
  }
}

const REPLAY_EVERY = 1000 // ms; 5 s as the SDK ships
const nativeFetch = window.fetch.bind(window)

/** Reads its settings from the URL's fragment: `dsn`, `tunnel` where the SDK is told one, `replay` to record the visit. */
export function startReporting(sdk: Sdk) {
  const settings = new URLSearchParams(location.hash.slice(1))
  const tunnel = settings.get('tunnel')
  const opener: Window | null = window.opener
  const counts: Counts = opener?.delivery.counts ?? {
    raised: 0,
    made: 0,
    handed: [],
    failed: [],
    failures: [],
  }
  const tabs: Window[] = []
  const opened = new Map<Window, () => void>()
  let [pending, over] = [0, false]

  sdk.init({
    dsn: settings.get('dsn') ?? '',
    ...(tunnel && { tunnel }),
    transport: (options) => sdk.makeFetchTransport(options, countedFetch),
    beforeSend(event) {
      counts.made++
      return event
    },
    ...(settings.has('replay') && {
      replaysSessionSampleRate: 1,
      integrations: [
        sdk.replayIntegration({
          flushMinDelay: REPLAY_EVERY,
          flushMaxDelay: REPLAY_EVERY,
          minReplayDuration: 0,
        }),
      ],
    }),
  })

  async function countedFetch(url: RequestInfo | URL, options?: RequestInit): Promise<Response> {
    const id = reportIdOf(textOf(options?.body))
    if (id !== undefined) counts.handed.push(id)
    pending++
    try {
      return await nativeFetch(url, options)
    } catch (error) {
      if (id !== undefined) counts.failed.push(id)
      counts.failures.push(`${error} with ${pending} pending${options?.keepalive ? ', kept alive' : ''}`)
      throw error
    } finally {
      pending--
    }
  }

  /** Errors that nobody catches, one after the other until it is over. */
  async function raiseSteadily(label: string, least: number, everyMs: number): Promise<void> {
    for (let i = 0; i < least || !over; i++) {
      counts.raised++
      setTimeout(() => {
        throw new Error(`${label} ${i}`)
      })
      await pause(everyMs)
    }
  }

  /** The same in one breath. */
  function raiseAtOnce(label: string, many: number): void {
    for (let i = 0; i < many; i++) {
      counts.raised++
      reportError(new Error(`${label} ${i}`))
    }
  }

  /** Errors in the moment in which this page is left. */
  function raiseOnLeaving({ label, bytes, together }: Leaving): void {
    addEventListener('pagehide', () => {
      for (let i = 0; i < together; i++) {
        counts.raised++
        sdk.captureException(new Error(`${label} ${i}`), { extra: { state: 'x'.repeat(bytes) } })
      }
    })
  }

  /** Opens this page in tabs that are of one process with it, and waits until all have loaded. */
  async function openTabs(many: number): Promise<void> {
    await Promise.all(Array.from({ length: many }, openTab))
  }

  function openTab(): Promise<void> {
    return new Promise((resolve) => {
      const tab = window.open(location.href)
      if (!tab) throw new Error('Chromium opens no tab')
      tabs.push(tab)
      opened.set(tab, resolve)
    })
  }

  function stormInTabs(label: string, many: number): void {
    for (const [i, tab] of tabs.entries()) tab.delivery.raiseAtOnce(`${label} in tab ${i}`, many)
  }

  /** Does what a visitor does, for a replay to record, until it is over. */
  async function moveAbout(): Promise<void> {
    while (!over) {
      document.body.append(`${Math.round(performance.now())} `)
      await pause(100)
    }
  }

  function end(): void {
    over = true
  }

  /** How many requests this page and its tabs wait for. */
  const pendingAll = (): number =>
    pending + tabs.reduce((sum, { delivery }) => sum + delivery.pendingAll(), 0)

  if (opener) addEventListener('load', () => opener.delivery.opened.get(window)?.())

  const delivery = {
    counts,
    opened,
    raiseSteadily,
    raiseAtOnce,
    raiseOnLeaving,
    openTabs,
    stormInTabs,
    moveAbout,
    end,
    pendingAll,
  }
  window.delivery = delivery
  return delivery
}

function textOf(body: BodyInit | null | undefined): string {
  return body instanceof Uint8Array ? new TextDecoder('latin1').decode(body) : String(body)
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
