/** An ad blocker between the page and the network, with the lists that people have in theirs. */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { FiltersEngine, Request } from '@ghostery/adblocker'
import type { Page } from 'playwright-core'
import { LISTS_FOLDER } from '../requirements.ts'

/** All lists of the folder in one engine: EasyList, EasyPrivacy and uBlock's own. */
export function readLists(): FiltersEngine {
  const files = readdirSync(LISTS_FOLDER).filter((file) => file.endsWith('.txt.gz'))
  const lists = files.map((file) => gunzipSync(readFileSync(join(LISTS_FOLDER, file))).toString())
  return FiltersEngine.parse(lists.join('\n'))
}

/** Blocks what the lists block, from the page's next document on. Gives the list of blocked URLs, which grows. */
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
