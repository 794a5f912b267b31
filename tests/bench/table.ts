/** The table of the benchmark: medians, with their spread over the rounds. */

import { arch, availableParallelism, cpus } from 'node:os'
import sentry from '@sentry/core/package.json' with { type: 'json' }
import { type Alone, STEADY_RATE } from './alone.ts'
import type { Cores } from './cores.ts'
import { spreadOf } from './figures.ts'
import type { Figures } from './measure.ts'
import type { Plan } from './plan.ts'
import { BODY_KINDS, type BodyKind } from './requests.ts'
import type { Round, SideBySide, Way } from './side-by-side.ts'

export type Results = { sideBySide: SideBySide; alone: Alone }

const COLUMNS = [
  'median (spread of the rounds)',
  'Culvert',
  `handleTunnelRequest ${sentry.version} on Hono`,
  'bare node:http + undici',
  'Culvert ÷ handleTunnelRequest',
  'Culvert ÷ bare',
]

const MB = 1e6

/** Where and when: figures without it are hearsay. */
export function describeRun(cores: Cores, plan: Plan): string {
  const rounds = plan.rounds === 1 ? '1 round' : `${plan.rounds} rounds`
  return [describeMachine(), `32 connections, ${rounds}`, cores.note].join(', ')
}

export function describeMachine(): string {
  const [cpu] = cpus()
  return [
    new Date().toISOString().slice(0, 10),
    `Node.js ${process.versions.node}`,
    `${availableCores()} × ${cpu?.model.trim() ?? arch()}`,
  ].join(', ')
}

function availableCores(): number {
  return Math.max(availableParallelism(), cpus().length) // this process is tied to one by now
}

export function drawTable({ sideBySide, alone }: Results, plan: Plan): string {
  const rows = [
    COLUMNS,
    COLUMNS.map((_, i) => (i === 0 ? '---' : '---:')),
    ...BODY_KINDS.flatMap((kind) => bodyRows(kind, sideBySide[kind])),
    ...aloneRows(alone, plan),
  ]
  return rows.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

function bodyRows(kind: BodyKind, rounds: readonly Round[]): string[][] {
  const row = (title: string, digits: number, of: (figures: Figures) => number) =>
    sideBySideRow(`${kind}: ${title}`, rounds, digits, of)
  return [
    row('CPU per envelope, µs', 0, ({ cpu }) => cpu),
    row('envelopes a second', 0, ({ rate }) => rate),
    row('p50, ms', 2, ({ p50 }) => p50),
    row('p99, ms', 2, ({ p99 }) => p99),
    row('memory (RSS), MB', 0, ({ rss }) => rss / MB),
  ]
}

function sideBySideRow(
  title: string,
  rounds: readonly Round[],
  digits: number,
  of: (figures: Figures) => number,
): string[] {
  const figures = (way: Way) =>
    show(
      rounds.map((round) => of(round[way])),
      digits,
    )
  const ratio = (way: Way) =>
    show(
      rounds.map((round) => of(round.culvert) / of(round[way])),
      2,
    )
  return [title, figures('culvert'), figures('handler'), figures('bare'), ratio('handler'), ratio('bare')]
}

function aloneRows({ steady, growth, starts, projects }: Alone, plan: Plan): string[][] {
  const row = (title: string, figure: string) => [title, figure, '', '', '', '']
  const { from, to } = plan.growth
  const count = (figure: number) => figure.toLocaleString('en')
  return [
    row(`p50 at ${count(STEADY_RATE)} envelopes a second, ms`, show([steady.p50], 2)),
    row(`p99 at ${count(STEADY_RATE)} envelopes a second, ms`, show([steady.p99], 2)),
    row(`memory grows from envelope ${count(from)} to ${count(to)} by, MB`, show([growth / MB], 1)),
    row('ready after, ms', show(starts, 0)),
    row(
      'CPU per envelope with 1 project, µs',
      show(
        projects.map(({ one }) => one),
        0,
      ),
    ),
    row(
      `CPU per envelope with ${count(plan.projects)} projects, µs`,
      show(
        projects.map(({ many }) => many),
        0,
      ),
    ),
  ]
}

function show(figures: readonly number[], digits: number): string {
  const { median, min, max } = spreadOf(figures)
  const text = median.toFixed(digits)
  return figures.length > 1 ? `${text} (${min.toFixed(digits)}–${max.toFixed(digits)})` : text
}
