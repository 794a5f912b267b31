/** What shuts people out of a page, in either theme. */

import AxeBuilder from '@axe-core/playwright'
import type { Page } from 'playwright-core'

/** One line for each finding of axe, with the elements concerned. */
export async function findingsOn(page: Page): Promise<string[]> {
  const found: string[] = []
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    const { violations } = await new AxeBuilder({ page }).analyze()
    for (const { id, nodes } of violations)
      found.push([colorScheme, id, ...nodes.map(({ html }) => html)].join(' '))
  }
  return found
}
