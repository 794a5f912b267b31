/** Errors from before the SDK, and their events. */

import { BrowserClient, defaultStackParser, globalHandlersIntegration } from '@sentry/browser'
import {
  createTransport,
  type ErrorEvent as ErrorReport,
  getCurrentScope,
  initAndBind,
  triggerHandlers,
} from '@sentry/core'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type EarlyError, recordErrors } from '../../../tunnel/sdk/early-errors/record.ts'
import { replayError } from '../../../tunnel/sdk/early-errors/replay-error.ts'

const FIRST = Date.UTC(2026, 0, 1)

let page: EventTarget

beforeEach(() => {
  page = new EventTarget()
  const { addEventListener, removeEventListener } = EventTarget.prototype
  vi.stubGlobal('addEventListener', addEventListener.bind(page))
  vi.stubGlobal('removeEventListener', removeEventListener.bind(page))
  vi.useFakeTimers({ toFake: ['Date'], now: FIRST })
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

/** Lets an event happen at the page. */
function dispatch(type: string, properties: object): void {
  page.dispatchEvent(Object.assign(new Event(type), properties))
}

/** Starts the SDK. Returns the events that it will send. */
function startSdk(): ErrorReport[] {
  const events: ErrorReport[] = []
  initAndBind(BrowserClient, {
    dsn: 'https://key@sentry.example/2',
    stackParser: defaultStackParser,
    integrations: [globalHandlersIntegration()],
    transport: (options) => createTransport(options, () => Promise.resolve({ statusCode: 200 })),
    beforeSend: (event) => {
      events.push(event)
      return null
    },
  })
  return events
}

describe('Recorded errors', () => {
  afterEach(() => getCurrentScope().setClient(undefined))

  it('become events as those of the handlers of the SDK, in their order, with stack and time', async () => {
    const recorded: EarlyError[] = []
    recordErrors((item) => recorded.push(item))
    dispatch('error', { message: 'Uncaught Error: first', error: new Error('first') })
    vi.setSystemTime(FIRST + 1_000)
    dispatch('unhandledrejection', { reason: new TypeError('second') })
    vi.setSystemTime(FIRST + 2_000)
    dispatch('error', {
      message: 'Script error.',
      filename: 'https://shop.example/a.js',
      lineno: 3,
      colno: 4,
    })
    vi.setSystemTime(FIRST + 60_000)

    const events = startSdk()
    for (const item of recorded) replayError(item)
    const ofError = { handled: false, type: 'auto.browser.global_handlers.onerror' }
    const here = expect.stringContaining('early-errors.test.ts')
    expect(events).toMatchObject([
      {
        timestamp: FIRST / 1000,
        level: 'error',
        exception: { values: [{ type: 'Error', value: 'first', mechanism: ofError }] },
      },
      {
        timestamp: FIRST / 1000 + 1,
        exception: {
          values: [
            {
              type: 'TypeError',
              value: 'second',
              mechanism: { handled: false, type: 'auto.browser.global_handlers.onunhandledrejection' },
            },
          ],
        },
      },
      {
        timestamp: FIRST / 1000 + 2,
        exception: {
          values: [
            {
              mechanism: ofError,
              stacktrace: { frames: [{ filename: 'https://shop.example/a.js', lineno: 3, colno: 4 }] },
            },
          ],
        },
      },
    ])
    for (const { exception } of events.slice(0, 2))
      expect(exception?.values?.[0]?.stacktrace?.frames).toContainEqual(
        expect.objectContaining({ filename: here }),
      )
  })

  it('do not change the time of later events', () => {
    const events = startSdk()
    replayError({
      time: FIRST - 1_000,
      rejection: Object.assign(new Event('unhandledrejection'), rejected()),
    })
    triggerHandlers('error', { error: new Error('later') })
    expect(events.map(({ timestamp }) => timestamp)).toEqual([FIRST / 1000 - 1, FIRST / 1000])
  })
})

describe('recordErrors', () => {
  it('records nothing after its end', () => {
    const recorded: EarlyError[] = []
    const stop = recordErrors((item) => recorded.push(item))
    dispatch('error', { error: new Error('recorded') })
    stop()
    dispatch('error', { error: new Error('not recorded') })
    dispatch('unhandledrejection', rejected())
    expect(recorded).toMatchObject([{ error: { error: { message: 'recorded' } } }])
  })

  it('gives stacks as many frames as the SDK does', () => {
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 10
    try {
      recordErrors(() => {})
      expect(Error.stackTraceLimit).toBe(50)
    } finally {
      Error.stackTraceLimit = stackTraceLimit
    }
  })
})

function rejected(): Pick<PromiseRejectionEvent, 'promise' | 'reason'> {
  return { promise: new Promise(() => {}), reason: new Error('rejected') }
}
