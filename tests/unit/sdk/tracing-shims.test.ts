/** Functions of the bundles for `window.Sentry`. */

import { describe, expect, it } from 'vitest'
import * as api from '../../../tunnel/sdk/api.ts'
import * as tracingApi from '../../../tunnel/sdk/tracing-api.ts'
import * as shims from '../../../tunnel/sdk/tracing-shims.ts'

describe('The bundle errors', () => {
  it('has every function of the bundle tracing', () => {
    expect(Object.keys({ ...api, ...shims }).sort()).toEqual(Object.keys(tracingApi).sort())
  })

  it('calls the callbacks of spans and returns their results', () => {
    expect(shims.startSpan({}, (span) => span.isRecording())).toBe(false)
    expect(shims.startSpanManual({}, (_, finish) => finish())).toBeUndefined()
    expect(shims.startNewTrace(() => 1)).toBe(1)
    expect(shims.withActiveSpan(undefined, () => 2)).toBe(2)
    expect(shims.startInactiveSpan().setAttribute('key', 1).spanContext().traceId).toMatch(/^[0-9a-f]{32}$/)
  })
})
