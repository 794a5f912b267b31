/** Whether the two ways through the front lead where they should. */

import { type Check, fail, pass } from '../check.ts'
import { type Answer, jsonOf, nameOf } from '../request.ts'

export const page: Check = {
  name: 'page',
  title: 'The page answers',
  proves: 'The front is up, and leads every other path to web.',
  remedy: 'Look whether web runs (docker compose ps web), and what nginx logs for /.',
  examine({ page, site }) {
    if (!page) return fail(`Nobody answers at ${site}/.`)
    const { location, 'content-type': type = 'no type' } = page.headers
    if (location !== undefined) return fail(`It redirects to ${location}: try the doctor on that.`)
    if (page.status !== 200) return fail(`It is ${nameOf(page)}.`)
    if (!type.startsWith('text/html')) return fail(`It is ${type}, not a document.`)
    return pass(`${page.status} after ${page.took.toFixed(0)} ms.`)
  },
}

/** What SDKs send to see whether anybody answers; a tunnel forwards and counts nothing of it. */
export const PROBE = Buffer.from('{}')

export const tunnel: Check = {
  name: 'tunnel',
  title: 'The tunnel path answers',
  proves: 'The front leads the path to a tunnel, with and without a slash at its end, and redirects neither.',
  remedy:
    'Give nginx, web and the tunnel the same TUNNEL_PATHS, route each path by itself and its slashed form to the tunnel, and look whether one runs (docker compose ps tunnel).',
  async examine({ path, post }) {
    for (const each of [path, `${path}/`]) {
      const answer = await post(PROBE, { path: each })
      const { location } = answer.headers
      if (location !== undefined)
        return fail(`${each} redirects (${answer.status}) to ${location}: SDKs follow none.`)
      if (!answersProbe(answer)) return fail(`${each} answers ${nameOf(answer)} where a tunnel says 200 {}.`)
    }
    return pass(`${path} and ${path}/ take an SDK's probe.`)
  },
}

export function answersProbe(answer: Answer): boolean {
  return answer.status === 200 && answer.text.trim() === '{}' && Object.keys(jsonOf(answer)).length === 0
}
