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

/** Rounds of a tunnel, and of tunnels behind nginx, by what distinguishes them. */
export type Scenarios = { tunnel: Round<string>[]; replicas: Round<string>[] }

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

  onStep('Culvert with many projects, and with an open console')
  const tunnel = await play({
    ...byNumber(plan.projects, 'project(s)', withProjects),
    '1 project, console open': { start: () => startWatched(cores, one), requests },
  })
  onStep(`${plan.replicas.join(', ')} replicas behind nginx`)
  const replicas = await play(
    byNumber(plan.replicas, 'replica(s) on that one core, and nginx', (n) => ({
      start: () => startBehindNginx(n)(cores, one),
      requests,
    })),
  )
  return { tunnel, replicas }

  function withProjects(many: number): Participant {
    const dsns = dsnsOf(sink, many)
    return { start: () => startCulvert(cores, dsns), requests: buildRequests('3.3 KB error', dsns) }
  }
}

function byNumber(
  numbers: readonly number[],
  unit: string,
  of: (n: number) => Participant,
): Record<string, Participant> {
  return Object.fromEntries(numbers.map((n) => [`${n.toLocaleString('en')} ${unit}`, of(n)]))
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
