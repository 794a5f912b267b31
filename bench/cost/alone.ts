/** What is asked of Culvert alone: steadiness, memory and a quick start. */

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
import { spreadOf } from '../report/figures.ts'
import { startCulvert, TUNNEL } from './culvert.ts'
import { CONNECTIONS, measure, type Subject } from './measure.ts'
import type { Plan } from './plan.ts'
import { warmUp } from './rounds.ts'

export const STEADY_RATE = 2_000 // envelopes a second

export type Alone = {
  /** Milliseconds, at the fixed rate. */
  steady: { p50: number; p99: number }[]
  /** Bytes more that are held at the end. */
  growth: number
  /** Milliseconds from the start of a process until /readyz answers. */
  starts: number[]
}

export async function measureAlone(
  plan: Plan,
  cores: Cores,
  sink: Sink,
  tell: (step: string) => void,
): Promise<Alone> {
  tell(`Culvert at ${STEADY_RATE} envelopes a second`)
  const steady = await measureSteady(plan, cores, sink)
  tell(`Culvert's memory until envelope ${plan.growth.to}`)
  const growth = await measureGrowth(plan, cores, sink)
  tell("Culvert's start")
  const starts: number[] = []
  for (let i = 0; i < plan.starts; i++) starts.push(await timeStart(cores, sink))
  return { steady, growth, starts }
}

async function measureSteady(plan: Plan, cores: Cores, sink: Sink): Promise<Alone['steady']> {
  await using subject = await start(cores, sink)
  await warmUp(subject, plan, sink)
  const { posts, times } = plan.steady
  const steady: Alone['steady'] = []
  for (let time = 0; time < times; time++) {
    const { p50, p99 } = await measure(subject, sink, posts, (options) => postSteadily(options, STEADY_RATE))
    steady.push({ p50, p99 })
  }
  return steady
}

async function measureGrowth({ growth }: Plan, cores: Cores, sink: Sink): Promise<number> {
  await using subject = await start(cores, sink)
  const before = await residentAt(subject, sink, growth.from, growth.looks)
  return (await residentAt(subject, sink, growth.to, growth.looks)) - before
}

/** Memory goes up and down with each collection: the median of several looks on the last tenth of the way. */
async function residentAt(subject: Subject, sink: Sink, envelope: number, looks: number): Promise<number> {
  const left = envelope - subject.posted
  const step = Math.floor(left / 10 / looks)
  await measure(subject, sink, left - step * looks)
  const seen: number[] = []
  for (let look = 0; look < looks; look++) seen.push((await measure(subject, sink, step)).rss)
  return spreadOf(seen).median
}

async function start(cores: Cores, sink: Sink) {
  const dsns = dsnsOf(sink.port, 1)
  const server = await startCulvert(cores, dsns)
  return {
    ...{ name: 'culvert', server, posted: 0, connections: CONNECTIONS },
    requests: buildRequests('3.3 KB error', dsns),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

/** What Node has made of the sources: as the image has it, kept from one start to the next. */
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
