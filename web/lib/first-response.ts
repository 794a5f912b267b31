/** Request that any of several tunnels can answer. */

import { setTimeout as sleep } from 'node:timers/promises'

const HANGS_MS = 300 // a tunnel answers within milliseconds

/**
 * Asks one tunnel, and the next one too when it fails or has not responded within `HANGS_MS`. Returns the first response that is not 5xx, or
 * else the last one; `undefined` without any. Requests that are not needed are aborted.
 */
export async function firstResponse(
  origins: readonly string[],
  ask: (origin: string, signal: AbortSignal) => Promise<Response>,
): Promise<Response | undefined> {
  const requests: AbortController[] = []
  let failure: Response | undefined
  const first = await askFrom(0).catch(() => undefined)
  for (const request of requests) if (request !== first?.request) request.abort()
  return first?.response ?? failure

  async function askFrom(index: number): Promise<{ response: Response; request: AbortController }> {
    const origin = origins[index]
    if (origin === undefined) throw new Error('no further tunnel')
    const request = new AbortController()
    requests.push(request)
    const answer = ask(origin, request.signal).then((response) => {
      if (response.status < 500) return { response, request }
      failure = response
      throw new Error(`${origin} responded with ${response.status}`)
    })
    const early = await Promise.race([answer, sleep(HANGS_MS, undefined, { ref: false })]).catch(() => {})
    return early ?? Promise.any([answer, askFrom(index + 1)])
  }
}
