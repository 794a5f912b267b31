/**
 * Measures the throughput of the spool, as a table: `npm run bench:spool -- [--long | --quick] [--jetstream | --rewind]`. SQLite's file holds a
 * million envelopes with `--long` (5 GB of disk), and 100,000 without. NATS JetStream is measured when nats-server is installed, and alone
 * with `--jetstream`. `--rewind` measures only how SQLite sends 50,000 kept errors again.
 */

import { spawn } from 'node:child_process'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { pathToFileURL } from 'node:url'
import { startNatsCluster } from '../../tests/support/nats/cluster.ts'
import { startNats } from '../../tests/support/nats/nats.ts'
import { NODE } from '../../tests/support/node.ts'
import { unmet } from '../../tests/support/requirements.ts'
import { PROJECT } from '../../tests/support/spool/entries.ts'
import { makeFolder } from '../../tests/support/temporary-folder.ts'
import { measureDrain, measureEmptying } from './spool-drain.ts'
import { measureRewind } from './spool-rewind.ts'
import type { Work, WorkerFigures } from './spool-worker.ts'

const LONG = process.argv.includes('--long')
const QUICK = process.argv.includes('--quick')
const ROWS = LONG ? 1_000_000 : QUICK ? 2_000 : 100_000
const PUTS = QUICK ? 500 : 40_000 // per process
const JETSTREAM_PUTS = QUICK ? 500 : 10_000
const DRAINED = QUICK ? 500 : 30_000
const DELIVERED = QUICK ? 500 : 60_000
const REWOUND = QUICK ? 500 : 50_000
const SMALL = QUICK ? 500 : 18_000
const MIXED = QUICK ? 200 : 6_700 // 168 of them of 1.5 MB
const AT_A_TIME = 64
const WORKER = new URL('./spool-worker.ts', import.meta.url).pathname
const HEADINGS = [
  ...['3.3 KB envelopes', 'a second', 'p50, ms', 'p99, ms', 'event-loop delay p99, ms'],
  ...['CPU each, µs', 'RSS, MB'],
]

await using folder = await makeFolder()
if (process.argv.includes('--rewind')) await rewind()
else {
  console.log(line(HEADINGS))
  console.log(line(HEADINGS.map((_, i) => (i === 0 ? '---' : '---:'))))
  if (!process.argv.includes('--jetstream')) await measureSqlite()
  await measureJetStream()
}

async function rewind(): Promise<void> {
  const file = join(folder.path, 'rewind', 'spool.db')
  const url = pathToFileURL(file).href
  console.log(await measureRewind(file, { url, many: REWOUND, run }))
}

async function measureSqlite(): Promise<void> {
  const place = (name: string) => join(folder.path, name, 'spool.db')
  tell('SQLite: put by 1 process', [await run(place('one'), 'put', PUTS)])
  const log = watchSize(`${place('four')}-wal`)
  tell('SQLite: put by 4 processes', await runFour(place('four'), PUTS))
  note('SQLite: its log then, at most', mb(log.most()))
  await measureFull(place('full'))
  await deliver('SQLite', pathToFileURL(place('delivered')).href, place('delivered'))
}

async function measureFull(file: string): Promise<void> {
  const wait = `where ${count(ROWS)} wait`
  tell(`SQLite: put until ${count(ROWS)} wait`, [await run(file, 'put', ROWS, 256)])
  const more = await run(file, 'put', QUICK ? 500 : 20_000)
  tell(`SQLite: put ${wait}`, [more])
  tell(`SQLite: taken, read and finished ${wait}`, [await run(file, 'drain', DRAINED)])
  const empty = await run(join(folder.path, 'new', 'spool.db'), 'put', 1)
  note('SQLite: opens empty, in ms', empty.opened.toFixed(0))
  note(`SQLite: opens ${wait}, in ms`, more.opened.toFixed(0))
  note('SQLite: its file', mb(sizeOf(file)))
}

async function measureJetStream(): Promise<void> {
  const reason = unmet('nats-server')
  if (reason) return note('NATS JetStream: not measured', reason)
  await measureServers('NATS JetStream, one server', async (stack) => stack.use(await startNats()).url)
  await measureServers('NATS JetStream, three servers', async (stack) => {
    const { servers } = stack.use(await startNatsCluster())
    return `nats://${servers.join(',')}?replicas=3`
  })
}

/** Measures each figure on new servers. */
async function measureServers(
  title: string,
  start: (stack: AsyncDisposableStack) => Promise<string>,
): Promise<void> {
  await onServers(async (url) => {
    tell(`${title}: put by 1 process`, [await run(url, 'put', JETSTREAM_PUTS)])
    tell(`${title}: put by 4 processes`, await runFour(url, JETSTREAM_PUTS))
    tell(`${title}: taken, read and finished`, [await run(url, 'drain', 5 * JETSTREAM_PUTS)])
  })
  await onServers(async (url) => note(`${title}: ${count(SMALL)} small, s`, await empty(url, 'put', SMALL)))
  await onServers(async (url) =>
    note(`${title}: ${count(MIXED)} mixed, s`, await empty(url, 'put-mixed', MIXED)),
  )
  await onServers((url) => deliver(title, url, url))

  async function onServers(measure: (url: string) => Promise<void>): Promise<void> {
    await using stack = new AsyncDisposableStack()
    await measure(await start(stack))
  }
}

/** Time in seconds in which a tunnel delivers all entries from its start, and the rate in the middle. */
async function empty(url: string, what: 'put' | 'put-mixed', many: number): Promise<string> {
  const { seconds, perSecond } = await measureEmptying(what, { url, many, run })
  return `${seconds.toFixed(1)} (${count(Math.round(perSecond))}/s)`
}

/** Measures a delivery by a tunnel beside live traffic. */
async function deliver(title: string, url: string, place: string): Promise<void> {
  const { live, delivered, perSecond, p99 } = await measureDrain(place, { url, many: DELIVERED, run })
  note(`${title}: delivered beside ${live} live ones a second, once ramped`, count(Math.round(perSecond)))
  note(`${title}: p99 of the live ones meanwhile (${count(delivered)} waited), ms`, p99.toFixed(1))
}

function runFour(place: string, many: number): Promise<WorkerFigures[]> {
  return Promise.all(Array.from({ length: 4 }, () => run(place, 'put', many)))
}

async function run(
  place: string,
  what: Work,
  many: number,
  atATime = AT_A_TIME,
  dsn = PROJECT,
): Promise<WorkerFigures> {
  const args = [WORKER, place, what, String(many), String(atATime), dsn]
  const child = spawn(NODE, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  return JSON.parse(await text(child.stdout))
}

/** Sums the rates of several workers, and takes the worst of their other figures. */
function tell(title: string, all: readonly WorkerFigures[]): void {
  const worst = (of: (figures: WorkerFigures) => number) => Math.max(...all.map(of))
  const took = worst(({ ended }) => ended) - Math.min(...all.map(({ began }) => began))
  const done = all.reduce((sum, figures) => sum + figures.done, 0)
  const cpu = all.reduce((sum, figures) => sum + figures.cpu, 0)
  const figures = [
    count(Math.round((done * 1000) / took)),
    ...[worst(({ p50 }) => p50).toFixed(1), worst(({ p99 }) => p99).toFixed(1)],
    ...[worst(({ loopDelayP99 }) => loopDelayP99).toFixed(1), ((cpu * 1e6) / done).toFixed(0)],
    (worst(({ rss }) => rss) / 1e6).toFixed(0),
  ]
  console.log(line([title, ...figures]))
}

function note(what: string, figure: string): void {
  console.log(line([what, figure, '', '', '', '', '']))
}

function line(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`
}

function watchSize(file: string): { most(): number } {
  let most = 0
  const timer = setInterval(() => {
    most = Math.max(most, sizeOf(file))
  }, 100)
  return {
    most() {
      clearInterval(timer)
      return most
    },
  }
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
