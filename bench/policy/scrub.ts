/** Measures the CPU time that scrubbing adds to an envelope: `node bench/policy/scrub.ts`. */

import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { capture } from '../../tests/support/sdk-captures.ts'
import { DEFAULT_HEADER_LIMITS } from '../../tunnel/src/envelope/headers.ts'
import { EnvelopeReader } from '../../tunnel/src/envelope/reader.ts'
import { Context } from '../../tunnel/src/pipeline.ts'
import { readRulesFile } from '../../tunnel/src/policy/scrub/rules-file.ts'
import { Scrubbing, scrubStage } from '../../tunnel/src/policy/scrub.ts'
import { spreadOf } from '../report/statistics.ts'
import { renderTable } from '../report/table.ts'

const ROUNDS = 9
const RUNS = 400 // of a round

const BODIES = {
  '3.3 KB error': 'nextjs-11.1.0-init-tunnel-2-event',
  '3.3 KB error with 4 secrets': 'nextjs-11.1.0-init-tunnel-2-event',
  '40 KB span batch': 'nextjs-11.1.0-init-tunnel-3-span',
} as const

const PATTERN = JSON.stringify({
  rules: { order: { type: 'pattern', pattern: '\\bA-[0-9]{6}\\b' } },
  applications: { $string: ['order'] },
})

const SETTINGS = {
  off: undefined,
  default: { level: 'default', selected: [] },
  strict: { level: 'strict', selected: [] },
  'default and a pattern': { level: 'default', selected: readRulesFile(Buffer.from(PATTERN)) },
} as const

function bodyOf(kind: keyof typeof BODIES): Buffer {
  const { body } = capture(BODIES[kind])
  if (!kind.includes('secrets')) return body
  const text = body.toString()
  return Buffer.from(
    text
      .replaceAll('"next handled', '"jane@example.com next')
      .replace('"url":"http://localhost:33625/"', '"url":"http://localhost:33625/?token=abc"')
      .replace(
        '"tags":{',
        '"user":{"email":"jane@example.com"},"extra":{"card":"4111 1111 1111 1111"},"tags":{"password":"a",',
      ),
  )
}

/** Returns a function that parses an envelope, and scrubs it. */
function createRun(body: Buffer, settings: (typeof SETTINGS)[keyof typeof SETTINGS]): () => void {
  const more = { mode: 'enforce', attachments: 'pass' } as const
  const scrubbing = settings && new Scrubbing({ ...settings, ...more }, () => {})
  const stage = scrubStage(scrubbing)
  const limits = {
    ...DEFAULT_HEADER_LIMITS,
    items: 1000,
    keep: (type: string) => scrubbing?.reads(type) === true,
  }
  const incoming = new IncomingMessage(new Socket())
  const client = { address: undefined, requestId: '', isRetry: false }
  return () => {
    const reader = new EnvelopeReader(limits)
    reader.push(body)
    const ctx = new Context(incoming, client, 0, { id: '', time: 0, items: [], bytes: 0, replica: '' })
    ctx.envelope = reader.end()
    stage(ctx)
  }
}

/** Returns the CPU time of a run in microseconds. */
function measure(run: () => void): number {
  const start = process.cpuUsage()
  for (let i = 0; i < RUNS; i++) run()
  const { user, system } = process.cpuUsage(start)
  return (user + system) / RUNS
}

const rows = Object.keys(BODIES).map((kind) => {
  const body = bodyOf(kind as keyof typeof BODIES) // a key of BODIES
  const runs = Object.values(SETTINGS).map((settings) => createRun(body, settings))
  for (const run of runs) measure(run)
  const times = runs.map(() => [] as number[])
  for (let round = 0; round < ROUNDS; round++)
    for (const [index, run] of runs.entries()) times[index]?.push(measure(run))
  const [off = 0, ...on] = times.map((each) => spreadOf(each).median)
  return [kind, off.toFixed(1), ...on.map((time) => `+${(time - off).toFixed(1)}`)]
})
console.log(
  renderTable([['CPU time, µs an envelope: parsing and scrubbing', ...Object.keys(SETTINGS)], ...rows]),
)
