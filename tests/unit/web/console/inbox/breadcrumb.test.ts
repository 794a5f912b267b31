/** Breadcrumbs in readable form. */

import { describe, expect, it } from 'vitest'
import { Budget, PAGE_CHARACTERS } from '../../../../../web/features/console/bounds.ts'
import { readEvent } from '../../../../../web/features/console/inbox/event.ts'
import { breadcrumbIn } from '../../../../../web/features/console/inbox/event-model.ts'

const shown = (crumb: object) =>
  readEvent({ breadcrumbs: [crumb] })?.breadcrumbs.map(breadcrumbIn(new Budget(PAGE_CHARACTERS.readable)))[0]

describe('breadcrumbIn', () => {
  it.each([
    [{ category: 'ui.click', message: 'button#pay' }, 'Click', 'button#pay'],
    [
      {
        category: 'ui.click',
        message: 'div#a.b.c.py-1.5 > a.x.y > button.d.hover:e.w-[2rem][type="submit"]',
      },
      'Click',
      'div#a.b.c… > a.x.y > button.d.hover:e…[type="submit"]',
    ],
    [{ category: 'ui.input', message: 'input#name' }, 'Input', 'input#name'],
    [{ category: 'navigation', data: { from: '/a', to: '/b' } }, 'Navigation', '/a → /b'],
    [{ category: 'fetch', data: { method: 'GET', url: '/api', status_code: 500 } }, 'HTTP', 'GET /api 500'],
    [{ category: 'xhr', data: { method: 'POST', url: '/api' } }, 'HTTP', 'POST /api'],
    [{ category: 'console', message: 'hello', data: { arguments: ['hello'] } }, 'Console', 'hello'],
    [{ category: 'sentry.event', message: 'Error: x' }, 'Sentry', 'Error: x'],
    [{ category: 'cart', data: { items: 2 } }, 'cart', '{"items":2}'],
    [{ message: 'no category' }, 'default', 'no category'],
    [{ category: 'navigation', data: { to: { a: 1 } } }, 'Navigation', '{"a":1}'],
    [{ category: 7, message: {}, data: 'x' }, '7', ''],
  ])('shows %j', (crumb, label, text) => {
    expect(shown(crumb)).toMatchObject({ label, text })
  })

  it('does not search the whole of a text that a sender made to be slow', () => {
    const message = `a.${'[a=""]'.repeat(200_000)}x`
    expect(shown({ category: 'ui.click', message })?.text.length).toBeLessThan(2_000)
  })

  it('keeps data beside a text, and shows it once without one', () => {
    expect(shown({ category: 'cart', message: 'full', data: { items: 2 } })?.data).toBe('{\n  "items": 2\n}')
    expect(shown({ category: 'cart', data: { items: 2 } })?.data).toBeUndefined()
    expect(shown({ category: 'cart', message: 'empty', data: {} })?.data).toBeUndefined()
  })
})
