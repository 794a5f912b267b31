/** Request that any of several tunnels can answer. */

import { setTimeout as sleep } from 'node:timers/promises'

const HANGS_MS = 300 // a tunnel answers within milliseconds

type Answer = { response: Response; request: AbortController }

/**
 * Asks one tunnel, and the next one as soon as it fails. After `hangsMs` without a response it asks a second one beside it, and never more at
 * a time. Returns the first response that is not 5xx, or else the last one; `undefined` without any. Requests that are not needed are aborted.
 */
export async function firstResponse(
  origins: readonly string[],
  ask: (origin: string, signal: AbortSignal) => Promise<Response>,
  hangsMs = HANGS_MS,
): Promise<Response | undefined> {
  const left = origins.values()
  const requests: AbortController[] = []
  let failure: Answer | undefined
  const first = askInTurn()
  const early = await Promise.race([first, sleep(hangsMs, undefined, { ref: false })]).catch(() => undefined)
  const answer = early ?? (await Promise.any([first, askInTurn()]).catch(() => failure))
  for (const request of requests) if (request !== answer?.request) request.abort()
  return answer?.response

  async function askInTurn(): Promise<Answer> {
    for (const origin of left) {
      const request = new AbortController()
      requests.push(request)
      const response = await ask(origin, request.signal).catch(() => undefined)
      if (request.signal.aborted) break // another tunnel has answered
      if (response && response.status < 500) return { response, request }
      if (response) failure = { response, request }
    }
    throw new Error('no further tunnel')
  }
}
