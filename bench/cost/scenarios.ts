/** Measures the cost of Culvert's 3.3 KB errors with many projects, with replicas, and with an open console. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Cores } from '../load/cores.ts'
import { dsnsOf } from '../load/projects.ts'
import { buildRequests } from '../load/requests.ts'
import type { Server } from '../load/server.ts'
import type { Sink } from '../load/sink.ts'
import { startBehindNginx, startCulvert, TOKEN } from './culvert.ts'
import type { Plan } from './plan.ts'
import { type Participant, type Round, runRounds } from './rounds.ts'
import { followFeed } from './tunnel-counts.ts'

/** Rounds by the number of projects, by the number of replicas, and by whether the console is open. */
export type Scenarios = {
  projects: Round<string>[]
  replicas: Round<string>[]
  console: Round<'closed' | 'open'>[]
}

const POLL_MS = 2_000 // polling interval of the console's pages

export async function measureSituations(
  plan: Plan,
  cores: Cores,
  sink: Sink,
  onStep: (step: string) => void,
): Promise<Scenarios> {
  const one = dsnsOf(sink, 1)
  const requests = buildRequests('3.3 KB error', one)
  const play = <Name extends string>(participants: Record<Name, Participant>) =>
    runRounds(participants, plan.fewerRounds, plan, sink)

  onStep(`Culvert with ${plan.projects.join(', ')} projects`)
  const projects = await play(byNumber(plan.projects, withProjects))
  onStep(`${plan.replicas.join(', ')} replicas behind nginx`)
  const replicas = await play(
    byNumber(plan.replicas, (n) => ({ start: () => startBehindNginx(n)(cores, one), requests })),
  )
  onStep('Culvert with the console closed, and open')
  const console = await play({
    closed: { start: () => startCulvert(cores, one), requests },
    open: { start: () => startWatched(cores, one), requests },
  })
  return { projects, replicas, console }

  function withProjects(many: number): Participant {
    const dsns = dsnsOf(sink, many)
    return { start: () => startCulvert(cores, dsns), requests: buildRequests('3.3 KB error', dsns) }
  }
}

function byNumber(numbers: readonly number[], of: (n: number) => Participant): Record<string, Participant> {
  return Object.fromEntries(numbers.map((n) => [`${n}`, of(n)]))
}

/** Polls as web does for an open console: receipts as they come, status and metrics at an interval. */
async function startWatched(cores: Cores, dsns: readonly string[]): Promise<Server> {
  await using starting = new AsyncDisposableStack()
  const server = starting.use(await startCulvert(cores, dsns))
  const feed = await followFeed(server.adminUrl, TOKEN)
  starting.defer(feed.close)
  const looks = lookAgain(server.adminUrl)
  starting.defer(looks.end)
  const started = starting.move()
  return {
    ...server,
    counts: async () => ({ ...(await server.counts()), 'receipts at the console': feed.chunk() }),
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

function lookAgain(adminUrl: string): { end: () => Promise<void> } {
  const over = new AbortController()
  const polling = look()
  polling.catch(() => {}) // awaited at the end
  return {
    async end() {
      over.abort()
      await polling
    },
  }

  async function look(): Promise<void> {
    while (!over.signal.aborted) {
      for (const path of ['/status', '/metrics']) {
        const answer = await fetch(`${adminUrl}${path}`, { headers: { authorization: `Bearer ${TOKEN}` } })
        if (!answer.ok) throw new Error(`${path} was answered ${answer.status}`)
        await answer.text()
      }
      await sleep(POLL_MS, undefined, { signal: over.signal }).catch(() => {})
    }
  }
}
