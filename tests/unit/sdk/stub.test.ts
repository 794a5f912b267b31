/** Stub in docs/install.md for pages where sdk.js cannot be loaded, as it stands there. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createContext, runInContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { ROOT } from '../../support/node.ts'

const [, CODE = ''] =
  /<script>\n( {2}\{\n[\s\S]+?)<\/script>/.exec(readFileSync(join(ROOT, 'docs/install.md'), 'utf8')) ?? []

/** Runs code in a page that has the stub. */
function run(code: string): unknown {
  const page = createContext({})
  runInContext(`window = globalThis; ${CODE}`, page)
  return runInContext(code, page)
}

describe('The stub of the docs', () => {
  it.each([
    'Sentry.init({ integrations: [Sentry.browserTracingIntegration(), Sentry.replayIntegration({ maskAllText: true })] })',
    "Sentry.addBreadcrumb({ message: 'step' })",
    "Sentry.setUser({ id: '1' }); Sentry.setTag('key', 1); Sentry.setContext('order', {}); Sentry.setExtra('key', 1)",
    "Sentry.captureException(new Error('text')); Sentry.captureMessage('text'); Sentry.captureEvent({})",
    "Sentry.captureException(new Error('text'), (scope) => { throw scope })",
    "Sentry.logger.info(Sentry.logger.fmt`user`, {}); Sentry.logger.error('text')",
    "Sentry.metrics.count('orders'); Sentry.metrics.gauge('load', 1); Sentry.metrics.distribution('time', 1)",
    'Sentry.showReportDialog({ eventId: Sentry.lastEventId(), onLoad() { throw Error() } })',
    'Sentry.onLoad(() => { throw Error() }); Sentry.forceLoad()',
    'Sentry.addEventProcessor(() => { throw Error() }); Sentry.addIntegration({})',
    "Sentry.getCurrentScope().setTag('key', 1).setUser(null); Sentry.getClient().on('beforeSendEvent', () => { throw Error() })",
    "Sentry.startInactiveSpan({ name: 'step' }).setAttribute('key', 1).end(); Sentry.getActiveSpan()?.end()",
    'String(Sentry.lastEventId())',
  ])('has %s do nothing', (code) => {
    run(code)
  })

  it.each([
    "Sentry.startSpan({ name: 'step' }, (span) => { span.setAttribute('key', 1); return 'result' })",
    "Sentry.startSpanManual({ name: 'step' }, (span, finish) => { finish(); span.end(); return 'result' })",
    "Sentry.withScope((scope) => { scope.setTag('key', 1).setLevel('info'); return 'result' })",
    "Sentry.withScope(Sentry.getCurrentScope(), () => 'result')",
    "Sentry.withIsolationScope((scope) => 'result')",
    "Sentry.withActiveSpan(Sentry.getActiveSpan(), () => 'result')",
    "Sentry.continueTrace({ sentryTrace: '', baggage: '' }, () => 'result')",
    "Sentry.startNewTrace(() => 'result')",
    "Sentry.suppressTracing(() => 'result')",
  ])('has %s run its callback', (code) => {
    expect(run(code)).toBe('result')
  })

  it('resolves promises of Sentry', async () => {
    await run('Promise.all([Sentry.flush(2000), Sentry.close()])')
  })

  it('hides nothing of an SDK that has loaded', () => {
    expect(
      run(
        "Object.assign(Sentry, { SDK_VERSION: '1.0.0', captureMessage: () => 'id' }); Sentry.captureMessage()",
      ),
    ).toBe('id')
    expect(run("Object.assign(Sentry, { SDK_VERSION: '1.0.0' }).getReplay")).toBeUndefined()
  })
})
