/** Accessibility findings of axe on a page. */

import AxeBuilder from '@axe-core/playwright'
import type { Page } from 'playwright-core'

/** Rules whose result depends on the theme. */
const COLOUR_RULES = ['color-contrast', 'link-in-text-block']

/** Returns one line for each finding, with its elements. Frames of other origins are not analysed: there are none. */
export function findingsOn(page: Page): Promise<string[]> {
  return analyse(page, { rules: { 'target-size': { enabled: true } } }) // 24 px, of WCAG 2.2; off by default
}

async function analyse(page: Page, options: Parameters<AxeBuilder['options']>[0]): Promise<string[]> {
  // The other mode opens a second page for each analysis, which takes longer than the analysis.
  const wanted = { ...options, resultTypes: ['violations' as const] } // details of what passes take most of the time
  const { violations } = await new AxeBuilder({ page }).options(wanted).setLegacyMode().analyze()
  return violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)].join(' '))
}

/** Returns the findings of the light theme, then those of the colours of the dark one. */
export async function findingsInBothThemes(page: Page): Promise<string[]> {
  await page.emulateMedia({ colorScheme: 'light' })
  const light = await findingsOn(page)
  await page.emulateMedia({ colorScheme: 'dark' })
  const dark = await analyse(page, { runOnly: { type: 'rule', values: COLOUR_RULES } })
  return [...light.map((finding) => `light: ${finding}`), ...dark.map((finding) => `dark: ${finding}`)]
}
