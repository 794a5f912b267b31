/** Language of the browser while uPlot is loaded. */

import { describe, expect, it } from 'vitest'
import { decadesOf, withKnownLanguage } from '../../../../../web/features/console/figures/plot.ts'

/** Browser whose prototype has the language, as that of `navigator` does. */
const browserWith = (language: string): { language: string } => Object.create({ language })

describe('withKnownLanguage', () => {
  it.each(['C', 'POSIX_1', '', 'en_US.UTF-8'])('loads with en where the language is %j', async (language) => {
    const browser = browserWith(language)
    expect(() => new Intl.NumberFormat(browser.language)).toThrow(RangeError)
    const load = async () => new Intl.NumberFormat(browser.language).resolvedOptions().locale
    expect(await withKnownLanguage(browser, load)).toBe('en')
    expect(browser.language).toBe(language)
  })

  it.each(['de-CH', 'fr', 'en-US'])('loads with the language %j of the browser', async (language) => {
    const browser = browserWith(language)
    expect(await withKnownLanguage(browser, async () => browser.language)).toBe(language)
  })

  it('restores the language when loading fails', async () => {
    const browser = browserWith('C')
    const failing = withKnownLanguage(browser, () => Promise.reject(new Error('no such chunk')))
    await expect(failing).rejects.toThrow('no such chunk')
    expect(browser.language).toBe('C')
  })
})

it.each([
  [2.5, 250, [1, 1_000]],
  [5, 10_000, [1, 10_000]],
  [0.4, 0.4, [0.1, 1]],
  [10, 10, [10, 100]],
  [null, null, [1, 10]],
])('the axis of response times from %s to %s ms has whole powers of ten', (min, max, expected) => {
  expect(decadesOf(min, max)).toEqual(expected)
})
