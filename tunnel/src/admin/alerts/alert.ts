/** Text of alerts. It contains no payload, address or user. */

import { describeProblem, describeSituation, STATE_WORDS, utcClock } from 'contract/situation/describe'
import type { Problem } from 'contract/situation/problems'
import type { Situation, SituationState } from 'contract/situation/situation'

/** Body of a JSON webhook. Times are in milliseconds since 1970. */
export type Alert = {
  state: SituationState | 'test'
  /** Since when it is in this state. */
  since: number
  title: string
  text: string
  problems: { kind: Problem['kind']; since?: number; text: string }[]
}

/** Error whose message is a sentence for the operator, without a secret. */
export class SendError extends Error {}

export function describeAlert(found: Situation, now: number): Alert {
  const clock = utcClock(now)
  const situation = { ...found, problems: found.problems.map(withoutMessage) }
  const { state, since = now, problems } = situation
  const title = `Culvert: ${STATE_WORDS[state]}`
  const { text, lost, incident, others } = describeSituation(situation, clock)
  const paragraphs = [`${title}. ${text}`, lost, ...(incident === undefined ? [] : [incident]), ...others]
  return {
    ...{ state, since, title, text: paragraphs.join('\n') },
    problems: problems.map((problem) => ({
      ...{ kind: problem.kind, text: describeProblem(problem, clock) },
      ...sinceOf(problem),
    })),
  }
}

export function createTest(now: number): Alert {
  const title = 'Culvert: Test'
  const text = `${title}. Alerts of this Culvert arrive here. There is nothing to do.`
  return { state: 'test', since: now, title, text, problems: [] }
}

/** Removes text that a server has written. */
function withoutMessage(problem: Problem): Problem {
  if (problem.kind !== 'refused' && problem.kind !== 'declined') return problem
  const { message: _, ...refusal } = problem.refusal
  return { ...problem, refusal }
}

function sinceOf(problem: Problem): { since?: number } {
  if (problem.kind === 'refused' || problem.kind === 'declined') return { since: problem.refusal.first }
  if (problem.kind === 'storm') return { since: problem.storm.since }
  return 'since' in problem && problem.since !== undefined ? { since: problem.since } : {}
}
