/** The tables of the benchmark, in Markdown: medians, with their spread over the rounds. */

import { spreadOf } from '../report/figures.ts'
import { type Alone, STEADY_RATE } from './alone.ts'
import type { Figures } from './measure.ts'
import { LIVE_RATE, type Outage } from './outage.ts'
import type { Plan } from './plan.ts'
import type { Round } from './rounds.ts'
import type { SideBySide } from './side-by-side.ts'
import type { Situations } from './situations.ts'
import { WAY_NAMES, WAYS, type Way } from './ways.ts'

export type Results = { sideBySide: SideBySide; situations: Situations; outages: Outage[]; alone: Alone }

type Row = readonly string[]

const MB = 1e6
const BUSY = 0.85 // of a core
const MEASURES = ['CPU per envelope, µs', 'envelopes a second', 'p50, ms', 'p99, ms', 'memory (RSS), MB']

/** What each kind of body costs each way, and how Culvert compares. */
export function drawComparison({ sideBySide }: Results): string {
  return [costTable(sideBySide), ratioTable(sideBySide)].join('\n\n')
}

/** Culvert in its situations, and each way in full. */
export function drawDetails({ sideBySide, situations, outages, alone }: Results, plan: Plan): string {
  return [
    '## Culvert in its situations',
    situationTable(situations, outages),
    aloneTable(alone, outages, plan),
    '## Each way in full',
    ...sideBySide.map(wayTable),
  ].join('\n\n')
}

function costTable(sideBySide: SideBySide): string {
  return table(
    ['CPU per envelope, µs', ...kindsOf(sideBySide)],
    WAY_NAMES.map((way) => [
      WAYS[way].title,
      ...sideBySide.map(({ rounds }) => show(rounds.map((round) => round[way].cpu))),
    ]),
  )
}

function kindsOf(sideBySide: SideBySide): string[] {
  return sideBySide.map(({ kind }) => kind)
}

/** Each round's own ratio: what slows the machine slows both. */
function ratioTable(sideBySide: SideBySide): string {
  const row = (title: string, of: (round: Round<Way>) => number) => [
    title,
    ...sideBySide.map(({ rounds }) => show(rounds.map(of), 2)),
  ]
  return table(
    ['CPU compared', ...kindsOf(sideBySide)],
    [
      row('Culvert ÷ handleTunnelRequest', ({ culvert, handler }) => culvert.cpu / handler.cpu),
      row('Culvert ÷ Next.js rewrite', ({ culvert, next }) => culvert.cpu / next.cpu),
      row('Culvert ÷ bare node:http + undici', ({ culvert, bare }) => culvert.cpu / bare.cpu),
      row(
        'Culvert behind its nginx ÷ (nginx alone + bare node:http)',
        ({ behindNginx, nginx, bare }) => behindNginx.cpu / (nginx.cpu + bare.cpu),
      ),
    ],
  )
}

function situationTable({ projects, replicas, console }: Situations, outages: readonly Outage[]): string {
  const row = <T>(
    title: string,
    rounds: readonly T[],
    of: (round: T) => Figures,
    base: (round: T) => Figures,
  ) => [
    title,
    ...showFigures(rounds.map(of)),
    show(
      rounds.map((round) => of(round).cpu / base(round).cpu),
      2,
    ),
  ]
  const numbers = (rounds: readonly Round<string>[], unit: string) => {
    const [least = ''] = Object.keys(rounds[0] ?? {})
    const figures = (name: string) => (round: Round<string>) => round[name] as Figures
    return Object.keys(rounds[0] ?? {}).map((name) =>
      row(`${Number(name).toLocaleString('en')} ${unit}`, rounds, figures(name), figures(least)),
    )
  }
  return table(
    ['Culvert, 3.3 KB errors', ...MEASURES, 'CPU ÷ that of the first'],
    [
      ...numbers(projects, 'project(s)'),
      ...numbers(replicas, 'replica(s) on that one core, and nginx'),
      row(
        'console closed',
        console,
        ({ closed }) => closed,
        ({ closed }) => closed,
      ),
      row(
        'console open',
        console,
        ({ open }) => open,
        ({ closed }) => closed,
      ),
      row(
        'before an outage',
        outages,
        ({ before }) => before,
        ({ before }) => before,
      ),
      row(
        'while spooling',
        outages,
        ({ spooling }) => spooling,
        ({ before }) => before,
      ),
      row(
        `while draining, beside ${LIVE_RATE} live ones a second`,
        outages,
        ({ draining }) => draining,
        ({ before }) => before,
      ),
    ],
  )
}

function aloneTable({ steady, growth, starts }: Alone, outages: readonly Outage[], plan: Plan): string {
  const { from, to } = plan.growth
  const count = (figure: number) => figure.toLocaleString('en')
  const [p50, p99] = [steady.map((time) => time.p50), steady.map((time) => time.p99)]
  return table(
    ['Culvert alone', ''],
    [
      [`p50 at ${count(STEADY_RATE)} envelopes a second, ms`, show(p50, 2)],
      [`p99 at ${count(STEADY_RATE)} envelopes a second, ms`, show(p99, 2)],
      [`memory grows from envelope ${count(from)} to ${count(to)} by, MB`, show([growth / MB], 1)],
      ['ready after, ms', show(starts)],
      [
        `${count(plan.spooled)} that waited are delivered within, s`,
        show(
          outages.map(({ drainedSeconds }) => drainedSeconds),
          1,
        ),
      ],
    ],
  )
}

function wayTable({ kind, rounds }: SideBySide[number]): string {
  return table(
    [kind, ...MEASURES],
    WAY_NAMES.map((way) => [WAYS[way].title, ...showFigures(rounds.map((round) => round[way]))]),
  )
}

/** In the order of `MEASURES`. */
function showFigures(rounds: readonly Figures[]): string[] {
  return [
    show(rounds.map(({ cpu }) => cpu)),
    `${isIdle(rounds) ? '≥ ' : ''}${show(rounds.map(({ rate }) => rate))}`,
    show(
      rounds.map(({ p50 }) => p50),
      2,
    ),
    show(
      rounds.map(({ p99 }) => p99),
      2,
    ),
    show(rounds.map(({ rss }) => rss / MB)),
  ]
}

/** The server's core had time to spare: the load, or others on the machine, set the pace. */
function isIdle(rounds: readonly Figures[]): boolean {
  return spreadOf(rounds.map(({ cpu, rate }) => (cpu * rate) / 1e6)).median < BUSY
}

function table(head: Row, rows: readonly Row[]): string {
  const rule = head.map((_, i) => (i === 0 ? '---' : '---:'))
  return [head, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

function show(figures: readonly number[], digits = 0): string {
  const { median, min, max } = spreadOf(figures)
  const text = (figure: number) =>
    figure.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
  return figures.length > 1 ? `${text(median)} (${text(min)}–${text(max)})` : text(median)
}
