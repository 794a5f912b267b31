/** Whether an ad blocker would let a report through. */

import { FiltersEngine, Request } from '@ghostery/adblocker'
import { type Check, fail, pass } from '../check.ts'

// Those in EasyPrivacy that have hit tunnels.
const KNOWN = [
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
  title: 'No ad blocker stops the path',
  proves:
    'Reports of visitors with an ad blocker get through; they are the ones without which you are blind.',
  remedy:
    'Set TUNNEL_PATHS to a new path in front of the old one (/a-new-one|/monitoring): open tabs keep the old one.',
  examine({ lists, site, target }) {
    const engine = FiltersEngine.parse(lists.length > 0 ? lists.join('\n') : KNOWN.join('\n'))
    for (const type of ['fetch', 'xhr', 'beacon'] as const) {
      const posted = Request.fromRawDetails({ url: `${site}${target}`, type, sourceUrl: `${site}/` })
      const { match, filter } = engine.match(posted)
      if (match) return fail(`${target} is stopped by ${filter?.rawLine ?? filter ?? 'a filter'}.`)
    }
    if (lists.length === 0)
      return pass(`${target} meets none of ${KNOWN.length} known filters; --list looks through whole lists.`)
    return pass(`${target} meets none of ${engine.getFilters().networkFilters.length} filters.`)
  },
}
