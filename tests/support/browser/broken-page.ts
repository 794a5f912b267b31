/** A page that fails in the browser while it renders. */

import type { Page } from 'playwright-core'

/** Breaks the connection check, once it shows a result. */
export async function breakPage(page: Page): Promise<void> {
  await page.getByRole('status').filter({ hasText: 'Reports' }).waitFor()
  // The page reads this property until it has its response.
  await page.evaluate(() =>
    Object.defineProperty(Object.prototype, 'receipt', {
      get() {
        throw new Error('broken while it renders')
      },
      set(value) {
        Object.defineProperty(this, 'receipt', { value, writable: true, enumerable: true })
      },
    }),
  )
  await page.getByRole('button', { name: 'Check again' }).click()
  await page.getByRole('heading', { name: 'This page did not work.' }).waitFor()
}
