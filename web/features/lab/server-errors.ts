/** What the lab has the server raise, and how its page hears of it. */

import type { LabReport } from '../../lib/sentry/lab-reports.ts'
import { fail } from './actions.ts'
import type { Outcome } from './outcome.ts'

export type Asked = { pass: string; reference: string }

const REPORTED_WITHIN = 6_000 // ms
const LEFT_OUT_AFTER = 2_000 // ms without a report
const ASK_EVERY = 250 // ms

/** Asks for a page that fails, or a route that does. */
export async function ask(
  path: string,
  method: 'GET' | 'POST',
  asked: Asked,
  within = REPORTED_WITHIN,
): Promise<Outcome> {
  const response = await fetch(`${path}?${new URLSearchParams(asked)}`, { method })
  const refused = /"?data-refused"?[=:]"(\w+)"|"refused":"(\w+)"/.exec(await response.text())
  return refused ? { is: 'refused', why: refused[1] ?? refused[2] ?? '' } : reportOf(asked.reference, within)
}

export async function callAction(asked: Asked): Promise<Outcome> {
  const answer = await fail(asked).catch(() => undefined) // that it throws is what it is for
  return answer ? { is: 'refused', why: answer.refused } : reportOf(asked.reference, REPORTED_WITHIN)
}

/** Asks for a page that Next leaves by an error of its own, which nobody should be told of. */
export async function askQuietly(path: string, why: string, asked: Asked): Promise<Outcome> {
  const outcome = await ask(path, 'GET', asked, LEFT_OUT_AFTER)
  return outcome.is === 'unanswered' ? { is: 'left-out', why } : outcome
}

/** Asks until the server has sent it. */
async function reportOf(reference: string, within: number): Promise<Outcome> {
  const end = Date.now() + within
  while (Date.now() < end) {
    const response = await fetch(`/lab/report.json?reference=${reference}`)
    const { eventId, status }: Partial<LabReport> = await response.json()
    if (eventId && status !== undefined) return { is: 'answered', answered: { status }, eventId }
    await new Promise((done) => setTimeout(done, ASK_EVERY))
  }
  return { is: 'unanswered' }
}
