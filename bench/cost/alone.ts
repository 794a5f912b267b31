/** Measures Culvert: latency at fixed rates, also behind nginx, two replicas on two cores, and start-up time. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { TUNNEL_GC, TUNNEL_HEAP, TUNNEL_MALLOC } from '../../scripts/processes.ts'
import { freePort } from '../../scripts/start/free-port.ts'
import { NODE } from '../../tests/support/node.ts'
import { makeFolder } from '../../tests/support/temporary-folder.ts'
import { type Cores, takeOther } from '../load/cores.ts'
import { type LoadOptions, postSteadily } from '../load/load.ts'
import { dsnsOf } from '../load/projects.ts'
import { buildRequests } from '../load/requests.ts'
import type { Sink } from '../load/sink.ts'
import { Invalid } from '../report/run.ts'
import { spreadOf } from '../report/statistics.ts'
import { COMPILED, startReplicas, TUNNEL } from './culvert.ts'
import { CONNECTIONS, checkBooks, measure, observe, type Sample, type Target } from './measure.ts'
import type { Plan } from './plan.ts'
import { type Round, warmUp } from './rounds.ts'
import { SUBJECTS } from './subjects.ts'

export const FIXED_RATE = 2_000 // envelopes per second
const LOW_RATE = 500
const WAKE_SECONDS = 0.5 // a process that was idle has cold caches, and V8 collects its garbage

/** Subjects that are measured at fixed rates. */
export const STEADY_SUBJECTS = ['culvert', 'bare', 'behindNginx', 'chain'] as const

type SteadySubject = (typeof STEADY_SUBJECTS)[number]

/** `rate` is in words. */
export type Steady = { rate: string; rounds: Round<SteadySubject>[] }

/** `saturated` is at the maximum rate. */
export type SteadyRates = { saturated: Round<SteadySubject>[]; steady: Steady[] }

export type Alone = SteadyRates & {
  /** CPU time per envelope in µs of one replica, and of two on two cores: each replica at the fixed rate. */
  replicas: { one: number; two: number }[]
  /** Time in ms from the start of a process until /readyz responds with 200. */
  starts: number[]
}

export async function measureAlone(
  plan: Plan,
  cores: Cores,
  sink: Sink,
  onStep: (step: string) => void,
): Promise<Alone> {
  onStep(`Latency and cost at ${LOW_RATE} and ${FIXED_RATE} envelopes a second, and at half of the maximum`)
  const rates = await measureSteady(plan, cores, sink)
  onStep('Two replicas on two cores')
  const replicas = await measureReplicas(plan, cores, sink)
  onStep("Culvert's start")
  const starts: number[] = []
  for (let i = 0; i < plan.starts; i++) starts.push(await timeStart(cores, sink))
  return { ...rates, replicas, starts }
}

async function measureSteady(plan: Plan, cores: Cores, sink: Sink): Promise<SteadyRates> {
  const { seconds } = plan.steady
  await using running = new AsyncDisposableStack()
  const targets: Target[] = []
  const posts = new Map<Target, number>()
  for (const subject of STEADY_SUBJECTS) {
    const target = running.use(await start(subject, cores, sink))
    posts.set(target, await warmUp(target, plan, sink))
    targets.push(target)
  }
  const saturated = []
  for (let round = 0; round < plan.fewerRounds; round++)
    saturated.push(await playRound((target) => measure(target, sink, posts.get(target) ?? 0)))
  const half = Math.round(spreadOf(saturated.map(({ behindNginx }) => behindNginx.rate)).median / 2)
  const steady: Steady[] = []
  for (const rate of [LOW_RATE, FIXED_RATE, half]) {
    const rounds = rate === FIXED_RATE ? plan.steady.rounds : plan.fewerRounds
    const played = []
    for (let round = 0; round < rounds; round++)
      played.push(await playRound((target) => measureAt(target, sink, rate, seconds)))
    const inWords = `${rate === half ? 'half of the maximum, ' : ''}${rate.toLocaleString('en')} envelopes a second`
    steady.push({ rate: inWords, rounds: played })
  }
  for (const target of targets) await checkBooks(target)
  return { saturated, steady }

  async function playRound(sample: (target: Target) => Promise<Sample>): Promise<Round<SteadySubject>> {
    const round: Record<string, Sample> = {}
    for (const target of targets) round[target.name] = await sample(target)
    return round as Round<SteadySubject>
  }
}

async function measureAt(target: Target, sink: Sink, rate: number, seconds: number): Promise<Sample> {
  const post = (options: LoadOptions) => postSteadily(options, rate)
  await measure(target, sink, Math.round(rate * WAKE_SECONDS), post)
  return measure(target, sink, rate * seconds, post)
}

/** The second replica shares its core with the load. */
async function measureReplicas(plan: Plan, cores: Cores, sink: Sink): Promise<Alone['replicas']> {
  const dsns = dsnsOf(sink, 1)
  await using replicas = await startReplicas([cores, takeOther(cores)], dsns)
  const requests = buildRequests('3.3 KB error', dsns)
  const targets = replicas.all.map(
    (server): Target => ({ name: 'culvert', server, requests, connections: CONNECTIONS, posted: 0 }),
  )
  const [first] = targets
  if (!first) throw new Error('no replica has started')
  for (const target of targets) await warmUp(target, plan, sink)
  const rounds: Alone['replicas'] = []
  for (let round = 0; round < plan.fewerRounds; round++)
    rounds.push({ one: await cpuOf([first]), two: await cpuOf(targets) })
  return rounds

  /** Returns the mean of replicas that work at the same time. */
  async function cpuOf(busy: readonly Target[]): Promise<number> {
    const posts = FIXED_RATE * plan.steady.seconds
    const before = sink.seen.envelopes
    const samples = await Promise.all(
      busy.map((target) => observe(target, posts, (options) => postSteadily(options, FIXED_RATE))),
    )
    const arrived = sink.seen.envelopes - before
    if (arrived !== posts * busy.length)
      throw new Invalid(`${posts * busy.length} posts to replicas, ${arrived} arrived at the sink`)
    return samples.reduce((sum, { cpu }) => sum + cpu, 0) / busy.length
  }
}

async function start(subject: SteadySubject, cores: Cores, sink: Sink) {
  const dsns = dsnsOf(sink, 1)
  const server = await SUBJECTS[subject].start(cores, dsns)
  return {
    ...{ name: subject, server, posted: 0, connections: CONNECTIONS },
    requests: buildRequests('3.3 KB error', dsns),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

async function timeStart(cores: Cores, sink: Sink): Promise<number> {
  await using folder = await makeFolder()
  const [port, adminPort] = [await freePort(), await freePort()]
  const env = {
    ...TUNNEL_MALLOC,
    PATH: process.env.PATH,
    SENTRY_DSN: dsnsOf(sink, 1).join(' '),
    PORT: String(port),
    ADMIN_PORT: String(adminPort),
    NODE_COMPILE_CACHE: COMPILED,
  }
  const [program = '', ...args] = [...cores.server, NODE, ...TUNNEL_HEAP, TUNNEL_GC, TUNNEL]
  const began = performance.now()
  const child = spawn(program, args, { cwd: folder.path, env, stdio: ['ignore', 'ignore', 'inherit'] })
  const ended = once(child, 'exit')
  try {
    while (!(await isReady(adminPort))) {
      if (child.exitCode !== null) throw new Error(`the tunnel ended with ${child.exitCode} at its start`)
      await sleep(2)
    }
    return performance.now() - began
  } finally {
    child.kill('SIGTERM')
    await ended
  }
}

function isReady(adminPort: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${adminPort}/readyz`).then(
    ({ ok }) => ok,
    () => false,
  )
}
