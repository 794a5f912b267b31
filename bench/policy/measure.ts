/** Measures the CPU time that stages of the pipeline add to the parsing of an envelope. */

import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { DEFAULT_HEADER_LIMITS } from '../../tunnel/src/envelope/headers.ts'
import { EnvelopeReader } from '../../tunnel/src/envelope/reader.ts'
import { Context, type Stage } from '../../tunnel/src/pipeline/pipeline.ts'
import type { Project } from '../../tunnel/src/pipeline/projects.ts'
import { spreadOf } from '../report/statistics.ts'
import { renderTable } from '../report/table.ts'

/** Stages of one column, and the types of items whose payload they read. */
export type Variant = { stages: readonly Stage[]; keep: (type: string) => boolean }

const ROUNDS = 9
const RUNS = 400 // of a round
const CLIENT = { address: '203.0.113.7', requestId: '', isRetry: false }

/** Prints the medians for each body. The first variant is the one to which the others are compared. */
export function printCosts(
  title: string,
  bodies: Readonly<Record<string, Buffer>>,
  variants: Readonly<Record<string, Variant>>,
  project?: Project,
): void {
  const rows = Object.entries(bodies).map(([kind, body]) => {
    const runs = Object.values(variants).map((variant) => createRun(body, variant, project))
    for (const run of runs) measure(run)
    const times = runs.map(() => [] as number[])
    for (let round = 0; round < ROUNDS; round++)
      for (const [index, run] of runs.entries()) times[index]?.push(measure(run))
    const [off = 0, ...on] = times.map((each) => spreadOf(each).median)
    return [kind, off.toFixed(1), ...on.map((time) => `+${(time - off).toFixed(1)}`)]
  })
  console.log(renderTable([[`CPU time, µs an envelope: ${title}`, ...Object.keys(variants)], ...rows]))
}

/** Returns a function that parses an envelope, and runs the stages. */
function createRun(body: Buffer, { stages, keep }: Variant, project: Project | undefined): () => void {
  const incoming = new IncomingMessage(new Socket())
  return () => {
    const reader = new EnvelopeReader({ ...DEFAULT_HEADER_LIMITS, items: 1000, keep })
    reader.push(body)
    const ctx = new Context(incoming, CLIENT, 0, { id: '', time: 0, items: [], bytes: 0, replica: '' })
    ctx.envelope = reader.end()
    if (project) ctx.project = project
    for (const stage of stages) stage(ctx)
    ctx.announceOutcome({ outcome: 'delivered', status: 200, body: null, headers: {} })
  }
}

/** Returns the CPU time of a run in microseconds. */
function measure(run: () => void): number {
  const start = process.cpuUsage()
  for (let i = 0; i < RUNS; i++) run()
  const { user, system } = process.cpuUsage(start)
  return (user + system) / RUNS
}
