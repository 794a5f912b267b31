/** Request that any of several tunnels can answer. */

import { setTimeout as sleep } from 'node:timers/promises'

const HANGS_MS = 300 // a tunnel answers within milliseconds

type Answer = { response: Response; request: AbortController }

/**
 * Asks one tunnel, and the next one as soon as it fails. After `hangsMs` without a response it asks another one beside it, and a further one
 * after twice as long each time. Returns the first response that is not 5xx, or else the last one; `undefined` without any. Requests that are
 * not needed are aborted.
 */
export async function firstResponse(
  origins: readonly string[],
  ask: (origin: string, signal: AbortSignal) => Promise<Response>,
  hangsMs = HANGS_MS,
): Promise<Response | undefined> {
  const left = origins.values()
  const requests: AbortController[] = []
  let failure: Answer | undefined
  const asked: Promise<Answer>[] = []
  let answer: Answer | undefined
  for (let waitMs = hangsMs; !answer && asked.length < origins.length; waitMs *= 2) {
    asked.push(askInTurn())
    const late = sleep(waitMs, undefined, { ref: false })
    answer = await Promise.race([Promise.any(asked), late]).catch(() => failure)
  }
  answer ??= await Promise.any(asked).catch(() => failure)
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
