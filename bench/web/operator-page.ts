/** Page of the console for benchmarks, which run outside of a test. */

import type { Page } from 'playwright-core'
import type { Chromium, Visitor } from '../../tests/support/browser/chromium.ts'
import type { ConsoleSite } from '../../tests/support/browser/console.ts'
import { signIn } from '../../tests/support/web/operator.ts'

/** Returns a visitor who is signed in, on an address where Chromium takes brotli, as over HTTPS. `open` loads a page. */
export async function visitConsole(
  chromium: Chromium,
  { site }: ConsoleSite,
): Promise<Visitor & { open: (path: string) => ReturnType<Page['goto']> }> {
  const url = `http://127.0.0.1:${site.port}`
  const visitor = await chromium.visitor()
  visitor.allowTrouble(/./)
  const { cookie = '' } = await signIn(url)
  const [name = '', value = ''] = cookie.split('=')
  await visitor.page.context().addCookies([{ name, value, domain: '127.0.0.1', path: '/console' }])
  return Object.assign(visitor, {
    open: (path: string) => visitor.page.goto(`${url}/console${path}`, { waitUntil: 'load' }),
  })
}
