/** What Culvert's 3.3 KB errors cost with many projects, with replicas, and while somebody looks on. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Cores } from './cores.ts'
import { startBehindNginx, startCulvert, TOKEN } from './culvert.ts'
import type { Plan } from './plan.ts'
import { dsnsOf } from './projects.ts'
import { buildRequests } from './requests.ts'
import { type Contender, playRounds, type Round } from './rounds.ts'
import type { Server } from './server.ts'
import type { Sink } from './sink.ts'

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
  const server = await startCulvert(cores, dsns)
  const closed = new AbortController()
  const init = { headers: { authorization: `Bearer ${TOKEN}` }, signal: closed.signal }
  const watching = Promise.allSettled([readOn(), lookAgain()])
  return {
    ...server,
    async [Symbol.asyncDispose]() {
      closed.abort()
      await watching
      await server[Symbol.asyncDispose]()
    },
  }

  async function readOn(): Promise<void> {
    const { body } = await fetch(`${server.adminUrl}/receipts`, init)
    await body?.pipeTo(new WritableStream())
  }

  async function lookAgain(): Promise<void> {
    for (;;) {
      for (const path of ['/status', '/metrics'])
        await (await fetch(`${server.adminUrl}${path}`, init)).text()
      await sleep(LOOK_MS, undefined, { signal: closed.signal })
    }
  }
}
