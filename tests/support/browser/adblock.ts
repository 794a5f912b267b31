/** Ad blocker between a page and the network. */

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { FiltersEngine, Request } from '@ghostery/adblocker'
import type { Page } from 'playwright-core'
import { LISTS_FOLDER } from '../requirements.ts'

/** Rules of the tests: enough to block the requests to Sentry that real lists block. */
export const RULES_FILE = join(import.meta.dirname, '../../fixtures/adblock/rules.txt')

/** Returns the names of the real lists on this machine: EasyList, EasyPrivacy and uBlock's own. */
export function listFiles(): string[] {
  if (!existsSync(LISTS_FOLDER)) return []
  const names = readdirSync(LISTS_FOLDER).filter((file) => file.endsWith('.txt.gz'))
  return names.map((name) => join(LISTS_FOLDER, name))
}

let lists: FiltersEngine | undefined

/** Returns an engine with all real lists. It is made once: parsing them takes more than a second. */
export function readLists(): FiltersEngine {
  lists ??= FiltersEngine.parse(
    listFiles()
      .map((file) => gunzipSync(readFileSync(file)).toString())
      .join('\n'),
  )
  return lists
}

/** Loads the rules of the tests into an engine. */
export function readRules(): FiltersEngine {
  return FiltersEngine.parse(readFileSync(RULES_FILE, 'utf8'))
}

/** Blocks requests by the lists, from the page's next document on. Returns the growing list of blocked URLs. */
export async function blockAds(page: Page, engine: FiltersEngine): Promise<string[]> {
  const blocked: string[] = []
  await page.route('**/*', async (route) => {
    const url = route.request().url()
    const type = route.request().resourceType() as 'document' | 'script' | 'fetch' | 'xhr' | 'other'
    const { match } = engine.match(Request.fromRawDetails({ url, type, sourceUrl: page.url() }))
    if (!match) return route.continue()
    blocked.push(url)
    return route.abort('blockedbyclient')
  })
  return blocked
}
