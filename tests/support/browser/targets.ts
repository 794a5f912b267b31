/** Targets of pointers that are smaller than 24 px, the minimum of WCAG 2.5.8. */

import type { Page } from 'playwright-core'

const MIN_PX = 24
const TARGETS = 'a[href], button, summary, input:not([type=hidden]), select, textarea'

/** Returns one line for each visible link, button and field that is too small. Links within a sentence are excepted, as in WCAG. */
export function smallTargetsOn(page: Page): Promise<string[]> {
  return page.evaluate(
    ({ selector, min }) => {
      const isInSentence = (element: Element) =>
        getComputedStyle(element).display === 'inline' &&
        [...(element.parentElement?.childNodes ?? [])].some(
          (node) => node.nodeType === Node.TEXT_NODE && /\w/.test(node.textContent ?? ''),
        )
      return [...document.querySelectorAll(selector)]
        .filter((element) => element.checkVisibility({ visibilityProperty: true }) && !isInSentence(element))
        .map((element) => ({ element, box: (element.closest('label') ?? element).getBoundingClientRect() }))
        .filter(({ box }) => box.width > 1 && (box.width < min || box.height < min)) // 1: for screen readers only
        .map(({ element, box }) => `${box.width.toFixed(1)} × ${box.height.toFixed(1)}: ${element.outerHTML}`)
    },
    { selector: TARGETS, min: MIN_PX },
  )
}
