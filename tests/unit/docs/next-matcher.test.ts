/** Recipe of docs/install.md for a `proxy.ts` of Next.js. */

import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

const PAGE = readFileSync(new URL('../../../docs/install.md', import.meta.url), 'utf8')
const TUNNEL = [
  '/monitoring',
  '/monitoring/',
  '/monitoring/sdk.js',
  '/monitoring/reports',
  '/monitoring/reach',
]
const PAGES = ['/', '/about', '/monitoring-tips', '/de/monitoring', '/en/shop']

/** Returns the text that a group of the pattern matches on the page. */
function quoted(pattern: RegExp): string {
  const [, found] = pattern.exec(PAGE) ?? []
  if (found === undefined) throw new Error(`docs/install.md has nothing for ${pattern}`)
  return found.replaceAll('\\\\', '\\')
}

describe.each([
  ['matcher', new RegExp(`^${quoted(/matcher: '(.*)',/)}$`), false],
  ['condition', new RegExp(quoted(/if \(\/(.*)\/\.test\(request/)), true],
])('The %s for a proxy.ts', (_, pattern, isForTunnel) => {
  it.each(TUNNEL)('lets %s pass', (path) => {
    expect(pattern.test(path)).toBe(isForTunnel)
  })

  it.each(PAGES)('leaves %s to the app', (path) => {
    expect(pattern.test(path)).toBe(!isForTunnel)
  })
})
