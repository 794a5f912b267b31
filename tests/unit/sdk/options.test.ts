/** Options of `Sentry.init` in a page. */

import { type BrowserOptions, Scope } from '@sentry/browser'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { withPrivacy } from '../../../tunnel/sdk/options.ts'

const integrations = ['BrowserTracing', 'Replay', 'Latereplay', 'Other'].map((name) => ({ name }))
const options: BrowserOptions = {
  tracesSampleRate: 1,
  tracesSampler: () => 1,
  replaysSessionSampleRate: 1,
  replaysOnErrorSampleRate: 1,
  initialScope: { tags: { team: 'shop' }, user: { id: '1' } },
  integrations,
}

describe('withPrivacy', () => {
  afterEach(() => void vi.unstubAllGlobals())

  it('returns the options unchanged without the signal', () => {
    vi.stubGlobal('navigator', {})
    expect(withPrivacy(options, 'errors')).toBe(options)
  })

  it('removes traces, replays, logs and metrics with the signal', () => {
    vi.stubGlobal('navigator', { globalPrivacyControl: true })
    const { beforeSendLog, beforeSendMetric, ...rest } = withPrivacy(options, 'errors')
    expect(beforeSendLog?.({ level: 'info', message: 'text' })).toBeNull()
    expect(beforeSendMetric?.({ name: 'orders', value: 1, type: 'counter' })).toBeNull()
    expect(rest).toEqual({
      initialScope: expect.any(Function),
      integrations: [{ name: 'Other' }],
      replaysSessionSampleRate: 0,
      replaysOnErrorSampleRate: 0,
    })
  })

  it('removes them from the result of a function', () => {
    vi.stubGlobal('navigator', { globalPrivacyControl: true })
    const { integrations: made } = withPrivacy({ ...options, integrations: () => integrations }, 'errors')
    expect(typeof made === 'function' && made([])).toEqual([{ name: 'Other' }])
  })

  it('keeps traces and replays with PRIVACY_SIGNAL=mark', () => {
    vi.stubGlobal('navigator', { globalPrivacyControl: true })
    expect(withPrivacy(options, 'mark')).toEqual({ ...options, initialScope: expect.any(Function) })
  })

  it.each([
    ['an object', { tags: { team: 'shop' } }],
    ['a scope', new Scope().setTag('team', 'shop')],
    ['a function', (scope: Scope) => scope.setTag('team', 'shop')],
    ['a function that returns another scope', () => new Scope().setTag('team', 'shop')],
  ])('adds the tag to %s as initialScope', (_, initialScope) => {
    vi.stubGlobal('navigator', { globalPrivacyControl: true })
    const { initialScope: marked } = withPrivacy({ initialScope }, 'errors')
    expect(new Scope().update(marked).getScopeData().tags).toEqual({ team: 'shop', gpc: true })
  })
})
