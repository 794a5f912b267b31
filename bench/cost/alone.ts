/** Measures Culvert: latency at fixed rates, also behind nginx, two replicas on two cores, memory growth and start-up time. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../scripts/start/free-port.ts'
import { NODE } from '../../tests/support/node.ts'
import { makeFolder } from '../../tests/support/temporary-folder.ts'
import { type Cores, takeOther } from '../load/cores.ts'
import { postSteadily } from '../load/load.ts'
import { dsnsOf } from '../load/projects.ts'
import { buildRequests } from '../load/requests.ts'
import type { Sink } from '../load/sink.ts'
import { Invalid } from '../report/run.ts'
import { spreadOf } from '../report/statistics.ts'
import { COMPILED, startReplicas, TUNNEL } from './culvert.ts'
import { CONNECTIONS, measure, observe, type Sample, type Target } from './measure.ts'
import type { Plan } from './plan.ts'
import { type Round, warmUp } from './rounds.ts'
import { SUBJECTS } from './subjects.ts'

export const FIXED_RATE = 2_000 // envelopes per second

/** Subjects whose latency is measured at fixed rates. */
export const STEADY_SUBJECTS = ['culvert', 'behindNginx', 'chain'] as const

type SteadySubject = (typeof STEADY_SUBJECTS)[number]

export type Steady = { rate: number; rounds: Round<SteadySubject>[] }

export type Alone = {
  /** At the fixed rate, and at half of the maximum rate behind nginx. */
  steady: Steady[]
  /** CPU time per envelope in µs of one replica, and of two on two cores: each replica at the fixed rate. */
  replicas: { one: number; two: number }[]
  /** Growth of memory in bytes. */
  growth: number
  /** Time in ms from the start of a process until /readyz responds with 200. */
  starts: number[]
}

export async function measureAlone(
  plan: Plan,
  cores: Cores,
  sink: Sink,
  onStep: (step: string) => void,
): Promise<Alone> {
  onStep(`Latency at ${FIXED_RATE} envelopes a second, and at half of the maximum`)
  const steady = await measureSteady(plan, cores, sink)
  onStep('Two replicas on two cores')
  const replicas = await measureReplicas(plan, cores, sink)
  onStep(`Culvert's memory until envelope ${plan.growth.to}`)
  const growth = await measureGrowth(plan, cores, sink)
  onStep("Culvert's start")
  const starts: number[] = []
  for (let i = 0; i < plan.starts; i++) starts.push(await timeStart(cores, sink))
  return { steady, replicas, growth, starts }
}

async function measureSteady(plan: Plan, cores: Cores, sink: Sink): Promise<Steady[]> {
  await using running = new AsyncDisposableStack()
  const targets: Target[] = []
  let maxRate = 0
  for (const subject of STEADY_SUBJECTS) {
    const target = running.use(await start(subject, cores, sink))
    const posts = await warmUp(target, plan, sink)
    if (subject === 'behindNginx') maxRate = (await measure(target, sink, posts)).rate
    targets.push(target)
  }
  const steady: Steady[] = []
  for (const rate of [FIXED_RATE, Math.round(maxRate / 2)]) {
    const rounds = []
    for (let time = 0; time < plan.steady.times; time++) rounds.push(await playSteadily(rate))
    steady.push({ rate, rounds })
  }
  return steady

  async function playSteadily(rate: number): Promise<Round<SteadySubject>> {
    const round: Record<string, Sample> = {}
    for (const target of targets)
      round[target.name] = await measure(target, sink, plan.steady.posts, (options) =>
        postSteadily(options, rate),
      )
    return round as Round<SteadySubject>
  }
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
  for (let time = 0; time < plan.steady.times; time++)
    rounds.push({ one: await cpuOf([first]), two: await cpuOf(targets) })
  return rounds

  /** Returns the mean of replicas that work at the same time. */
  async function cpuOf(busy: readonly Target[]): Promise<number> {
    const { posts } = plan.steady
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

async function measureGrowth({ growth }: Plan, cores: Cores, sink: Sink): Promise<number> {
  await using target = await start('culvert', cores, sink)
  const before = await residentAt(target, sink, growth.from, growth.looks)
  return (await residentAt(target, sink, growth.to, growth.looks)) - before
}

/** Returns the median of several samples over the last tenth: each garbage collection changes the memory. */
async function residentAt(target: Target, sink: Sink, envelope: number, looks: number): Promise<number> {
  const left = envelope - target.posted
  const step = Math.floor(left / 10 / looks)
  await measure(target, sink, left - step * looks)
  const seen: number[] = []
  for (let look = 0; look < looks; look++) seen.push((await measure(target, sink, step)).rss)
  return spreadOf(seen).median
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
    PATH: process.env.PATH,
    SENTRY_DSN: dsnsOf(sink, 1).join(' '),
    PORT: String(port),
    ADMIN_PORT: String(adminPort),
    NODE_COMPILE_CACHE: COMPILED,
  }
  const [program = '', ...args] = [...cores.server, NODE, TUNNEL]
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
