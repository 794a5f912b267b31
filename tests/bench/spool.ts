/**
 * What the spool's SQLite file bears, as a table: `npm run bench:spool -- [--long | --quick]`. A million envelopes wait in it with
 * `--long` (4 GB of disk), a hundred thousand without.
 */

import { spawn } from 'node:child_process'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { makeFolder } from '../helpers/folder.ts'
import { NODE } from '../helpers/node.ts'
import type { WorkerFigures } from './spool-worker.ts'

const LONG = process.argv.includes('--long')
const QUICK = process.argv.includes('--quick')
const ROWS = LONG ? 1_000_000 : QUICK ? 2_000 : 100_000
const PUTS = QUICK ? 500 : 40_000 // by each process
const DRAINED = QUICK ? 500 : 30_000
const AT_A_TIME = 64
const WORKER = new URL('./spool-worker.ts', import.meta.url).pathname

await using folder = await makeFolder()
const rows: string[][] = [
  ['3.3 KB envelopes', 'a second', 'p50, ms', 'p99, ms', 'event-loop delay p99, ms', 'RSS, MB'],
]
rows.push(rows[0]?.map((_, i) => (i === 0 ? '---' : '---:')) ?? [])

const empty = join(folder.path, 'empty', 'spool.db')
rows.push(row('put by 1 process', [await run(empty, 'put', PUTS)]))
const four = join(folder.path, 'four', 'spool.db')
rows.push(
  row('put by 4 processes', await Promise.all(Array.from({ length: 4 }, () => run(four, 'put', PUTS)))),
)
tell(`write-ahead log after ${PUTS * 4} puts by 4 processes`, mb(sizeOf(`${four}-wal`)))

const full = join(folder.path, 'full', 'spool.db')
const filling = await run(full, 'put', ROWS, 256)
rows.push(row(`put until ${count(ROWS)} wait`, [filling]))
const more = await run(full, 'put', QUICK ? 500 : 10_000)
rows.push(row(`put where ${count(ROWS)} wait`, [more]))
rows.push(row(`taken, read and finished where ${count(ROWS)} wait`, [await run(full, 'drain', DRAINED)]))
tell(
  'an empty spool opens in, ms',
  (await run(join(folder.path, 'new', 'spool.db'), 'put', 1)).opened.toFixed(0),
)
tell(`one of ${count(ROWS)} opens in, ms`, more.opened.toFixed(0))
tell('its file', mb(sizeOf(full)))

console.log(rows.map((cells) => `| ${cells.join(' | ')} |`).join('\n'))

async function run(
  file: string,
  what: 'put' | 'drain',
  many: number,
  atATime = AT_A_TIME,
): Promise<WorkerFigures> {
  const args = [WORKER, file, what, String(many), String(atATime)]
  const child = spawn(NODE, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  return JSON.parse(await text(child.stdout))
}

/** Of several the rate together, and the worst of the others. */
function row(title: string, all: readonly WorkerFigures[]): string[] {
  const worst = (of: (figures: WorkerFigures) => number) => Math.max(...all.map(of))
  const took = worst(({ ended }) => ended) - Math.min(...all.map(({ began }) => began))
  const done = all.reduce((sum, figures) => sum + figures.done, 0)
  return [
    ...[title, count(Math.round((done * 1000) / took))],
    ...[worst(({ p50 }) => p50).toFixed(1), worst(({ p99 }) => p99).toFixed(1)],
    ...[worst(({ loopDelayP99 }) => loopDelayP99).toFixed(1), (worst(({ rss }) => rss) / 1e6).toFixed(0)],
  ]
}

function tell(what: string, figure: string): void {
  rows.push([what, figure, '', '', '', ''])
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}

function mb(bytes: number): string {
  return `${(bytes / 1e6).toFixed(0)} MB`
}

function count(figure: number): string {
  return figure.toLocaleString('en')
}
