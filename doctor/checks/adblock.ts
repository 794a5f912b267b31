/** Checks that ad blockers do not block the tunnel path. */

import { FiltersEngine, Request } from '@ghostery/adblocker'
import { type Check, fail, pass } from '../check.ts'
import { sdkFiles } from './sdk.ts'

// Filters of EasyPrivacy that have blocked tunnels.
const KNOWN_FILTERS = [
  '/monitoring?o=$xmlhttprequest',
  '/api/sentry/tunnel$xmlhttprequest',
  '/?sentry_key=',
  '/?sentry_version=',
  '/log/sentry/*',
  '/shared/sentry/*',
  '||sentry.io^$third-party',
]

export const adblock: Check = {
  name: 'adblock',
  title: 'Ad blockers do not block the path',
  verifies: 'Reports of visitors with an ad blocker arrive.',
  remedy:
    'Put a new path first in TUNNEL_PATHS, and keep the old one, because open tabs still use it: /new-path|/monitoring.',
  async run(deployment) {
    const { filterLists, site, path, target } = deployment
    const hasLists = filterLists.length > 0
    const engine = FiltersEngine.parse((hasLists ? filterLists : KNOWN_FILTERS).join('\n'))
    const posts = (['fetch', 'xhr', 'beacon'] as const).map((type) => [target, type] as const)
    const scripts = (await sdkFiles(deployment)).map((file) => [`${path}/${file}`, 'script'] as const)
    for (const [loaded, type] of [...posts, ...scripts]) {
      const request = Request.fromRawDetails({ url: `${site}${loaded}`, type, sourceUrl: `${site}/` })
      const { match, filter } = engine.match(request)
      if (match) return fail(`${loaded} is blocked by ${filter?.rawLine ?? filter ?? 'a filter'}.`)
    }
    return hasLists
      ? pass(`${target} matches none of ${engine.getFilters().networkFilters.length} filters.`)
      : pass(
          `${target} matches none of ${KNOWN_FILTERS.length} built-in filters. Use --list to check complete lists instead.`,
        )
  },
}
