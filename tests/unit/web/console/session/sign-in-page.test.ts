/** HTML of the sign-in page. */

import { parseHTML } from 'linkedom'
import { expect, it } from 'vitest'
import { renderForm, renderPage } from '../../../../../web/features/console/session/sign-in-page.ts'

const HOSTILE = `/console?a="><script>alert('1')</script>&amp;`

it('writes the page to open and the problem as text', () => {
  const { document } = parseHTML(renderForm(HOSTILE, HOSTILE))
  expect(document.querySelector('[name=to]')?.getAttribute('value')).toBe(HOSTILE)
  expect(document.querySelector('[role=alert]')?.textContent).toBe(HOSTILE)
  expect(document.querySelector('script')).toBeNull()
})

it.each([
  [true, ['/', '/lab']],
  [false, ['/']],
])('links to the error lab where it is open: %s', (isLabOn, links) => {
  const page = { nonce: '', styles: '', icon: '', theme: undefined, checkPath: '/', content: '' }
  const { document } = parseHTML(renderPage({ ...page, isLabOn }))
  expect([...document.querySelectorAll('nav a')].map((link) => link.getAttribute('href'))).toEqual(links)
})

it('connects the problem with the field, and has neither without one', () => {
  const fieldOf = (problem?: string) =>
    parseHTML(renderForm('/console', problem)).document.querySelector('[type=password]')
  expect(fieldOf('Wrong password.')?.getAttribute('aria-describedby')).toBe('problem')
  expect(fieldOf('Wrong password.')?.getAttribute('aria-invalid')).toBe('true')
  expect(fieldOf()?.hasAttribute('aria-describedby')).toBe(false)
})
