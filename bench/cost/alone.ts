/** Measures Culvert: latency at a fixed rate, also behind nginx, memory growth and start-up time. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { NODE, ROOT } from '../../tests/support/node.ts'
import { freePort } from '../../tests/support/ports.ts'
import { makeFolder } from '../../tests/support/temporary-folder.ts'
import type { Cores } from '../load/cores.ts'
import { postSteadily } from '../load/load.ts'
import { dsnsOf } from '../load/projects.ts'
import { buildRequests } from '../load/requests.ts'
import type { Sink } from '../load/sink.ts'
import { spreadOf } from '../report/statistics.ts'
import { TUNNEL } from './culvert.ts'
import { CONNECTIONS, measure, type Target } from './measure.ts'
import type { Plan } from './plan.ts'
import { warmUp } from './rounds.ts'
import { SUBJECTS } from './subjects.ts'

export const FIXED_RATE = 2_000 // envelopes per second

/** Subjects whose latency is measured at the fixed rate. */
export const STEADY_SUBJECTS = ['culvert', 'behindNginx', 'chain'] as const

type SteadySubject = (typeof STEADY_SUBJECTS)[number]
type Latency = { p50: number; p99: number }

export type Alone = {
  /** Latency in ms at the fixed rate. */
  steady: Record<SteadySubject, Latency[]>
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
  const steady: Alone['steady'] = { culvert: [], behindNginx: [], chain: [] }
  for (const subject of STEADY_SUBJECTS) {
    onStep(`${SUBJECTS[subject].title} at ${FIXED_RATE} envelopes a second`)
    steady[subject] = await measureSteady(subject, plan, cores, sink)
  }
  onStep(`Culvert's memory until envelope ${plan.growth.to}`)
  const growth = await measureGrowth(plan, cores, sink)
  onStep("Culvert's start")
  const starts: number[] = []
  for (let i = 0; i < plan.starts; i++) starts.push(await timeStart(cores, sink))
  return { steady, growth, starts }
}

async function measureSteady(
  subject: SteadySubject,
  plan: Plan,
  cores: Cores,
  sink: Sink,
): Promise<Latency[]> {
  await using target = await start(subject, cores, sink)
  await warmUp(target, plan, sink)
  const { posts, times } = plan.steady
  const steady: Latency[] = []
  for (let time = 0; time < times; time++) {
    const { p50, p99 } = await measure(target, sink, posts, (options) => postSteadily(options, FIXED_RATE))
    steady.push({ p50, p99 })
  }
  return steady
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
  const dsns = dsnsOf(sink.port, 1)
  const server = await SUBJECTS[subject].start(cores, dsns)
  return {
    ...{ name: subject, server, posted: 0, connections: CONNECTIONS },
    requests: buildRequests('3.3 KB error', dsns),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

/** Folder of Node's compile cache, which the image keeps between starts. */
const COMPILED = join(ROOT, 'tunnel/.compiled')

async function timeStart(cores: Cores, sink: Sink): Promise<number> {
  await using folder = await makeFolder()
  const [port, adminPort] = [await freePort(), await freePort()]
  const env = {
    PATH: process.env.PATH,
    SENTRY_DSN: dsnsOf(sink.port, 1).join(' '),
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
