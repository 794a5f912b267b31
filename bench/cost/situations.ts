/** What Culvert's 3.3 KB errors cost with many projects, with replicas, and while somebody looks on. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Cores } from '../load/cores.ts'
import { dsnsOf } from '../load/projects.ts'
import { buildRequests } from '../load/requests.ts'
import type { Server } from '../load/server.ts'
import type { Sink } from '../load/sink.ts'
import { startBehindNginx, startCulvert, TOKEN } from './culvert.ts'
import type { Plan } from './plan.ts'
import { type Contender, playRounds, type Round } from './rounds.ts'
import { followFeed } from './tunnel-counts.ts'

/** By the number of projects, by the number of replicas, and by whether the console is open. */
export type Situations = {
  projects: Round<string>[]
  replicas: Round<string>[]
  console: Round<'closed' | 'open'>[]
}

const LOOK_MS = 2_000 // as often as the console's pages ask

export async function measureSituations(
  plan: Plan,
  cores: Cores,
  sink: Sink,
  tell: (step: string) => void,
): Promise<Situations> {
  const one = dsnsOf(sink.port, 1)
  const requests = buildRequests('3.3 KB error', one)
  const play = <Name extends string>(contenders: Record<Name, Contender>) =>
    playRounds(contenders, plan.fewerRounds, plan, sink)

  tell(`Culvert with ${plan.projects.join(', ')} projects`)
  const projects = await play(byNumber(plan.projects, withProjects))
  tell(`${plan.replicas.join(', ')} replicas behind nginx`)
  const replicas = await play(
    byNumber(plan.replicas, (n) => ({ start: () => startBehindNginx(n)(cores, one), requests })),
  )
  tell('Culvert with the console closed, and open')
  const console = await play({
    closed: { start: () => startCulvert(cores, one), requests },
    open: { start: () => startWatched(cores, one), requests },
  })
  return { projects, replicas, console }

  function withProjects(many: number): Contender {
    const dsns = dsnsOf(sink.port, many)
    return { start: () => startCulvert(cores, dsns), requests: buildRequests('3.3 KB error', dsns) }
  }
}

function byNumber(numbers: readonly number[], of: (n: number) => Contender): Record<string, Contender> {
  return Object.fromEntries(numbers.map((n) => [`${n}`, of(n)]))
}

/** Asked what web asks for a console that is open: every receipt as it is settled, and status and metrics again and again. */
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
    counts: async () => ({ ...(await server.counts()), 'receipts at the console': feed.heard() }),
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

function lookAgain(adminUrl: string): { end: () => Promise<void> } {
  const over = new AbortController()
  const looking = look()
  looking.catch(() => {}) // it is heard of at the end
  return {
    async end() {
      over.abort()
      await looking
    },
  }

  async function look(): Promise<void> {
    while (!over.signal.aborted) {
      for (const path of ['/status', '/metrics']) {
        const answer = await fetch(`${adminUrl}${path}`, { headers: { authorization: `Bearer ${TOKEN}` } })
        if (!answer.ok) throw new Error(`${path} was answered ${answer.status}`)
        await answer.text()
      }
      await sleep(LOOK_MS, undefined, { signal: over.signal }).catch(() => {})
    }
  }
}
