/** Accessibility findings of axe on a page. */

import AxeBuilder from '@axe-core/playwright'
import type { Page } from 'playwright-core'

/** Returns one line for each finding, with its elements. Frames of other origins are not analysed: there are none. */
export async function findingsOn(page: Page): Promise<string[]> {
  // The other mode opens a second page for each analysis, which takes longer than the analysis.
  const rules = { 'target-size': { enabled: true } } // 24 px, of WCAG 2.2; off by default
  const { violations } = await new AxeBuilder({ page }).options({ rules }).setLegacyMode().analyze()
  return violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)].join(' '))
}

/** Returns the findings of the light theme first, then those of the dark one. */
export async function findingsInBothThemes(page: Page): Promise<string[]> {
  const found: string[] = []
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    for (const finding of await findingsOn(page)) found.push(`${colorScheme}: ${finding}`)
  }
  return found
}
