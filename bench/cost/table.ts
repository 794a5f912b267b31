/** Renders the tables of the benchmark in Markdown: medians, with their spread over the rounds. */

import { spreadOf } from '../report/statistics.ts'
import { renderTable } from '../report/table.ts'
import { type Alone, FIXED_RATE, STEADY_SUBJECTS, type Steady } from './alone.ts'
import { type ComparedRound, type Comparison, sampleIn, subjectsOf } from './comparison.ts'
import type { Sample } from './measure.ts'
import { LIVE_RATE, type Outage } from './outage.ts'
import type { Plan } from './plan.ts'
import type { Round } from './rounds.ts'
import type { Scenarios } from './scenarios.ts'
import { SUBJECTS, type Subject } from './subjects.ts'

export type Results = { sideBySide: Comparison; scenarios: Scenarios; outages: Outage[]; alone: Alone }

const MB = 1e6
const BUSY = 0.85 // of a core
const MEASURES = ['CPU per envelope, µs', 'envelopes a second', 'p50, ms', 'p99, ms', 'memory (RSS), MB']

/** Renders the cost of each kind of body for each subject, and the ratios. */
export function drawComparison(sideBySide: Comparison): string {
  return [costTable(sideBySide), ratioTable(sideBySide)].join('\n\n')
}

/** Renders the scenarios of Culvert, and all figures of each subject. */
export function drawDetails({ sideBySide, scenarios, outages, alone }: Results, plan: Plan): string {
  return [
    '## Scenarios of Culvert',
    situationTable(scenarios, outages),
    aloneTable(alone, outages, plan),
    '## Each way in full',
    ...sideBySide.map(wayTable),
  ].join('\n\n')
}

function costTable(sideBySide: Comparison): string {
  return renderTable([
    ['CPU per envelope, µs', ...kindsOf(sideBySide)],
    ...subjectsOf(sideBySide).map((subject) => [
      SUBJECTS[subject].title,
      ...sideBySide.map(({ rounds }) =>
        isMeasured(rounds, [subject]) ? show(rounds.map((round) => sampleIn(round, subject).cpu)) : '',
      ),
    ]),
  ])
}

function kindsOf(sideBySide: Comparison): string[] {
  return sideBySide.map(({ kind }) => kind)
}

type Ratio = { title: string; of: readonly Subject[]; to: readonly Subject[] }

/** Ratios of CPU time: the sum of some subjects to the sum of others. */
const RATIOS: readonly Ratio[] = [
  { title: 'Culvert ÷ handleTunnelRequest', of: ['culvert'], to: ['handler'] },
  { title: 'Culvert behind its nginx ÷ handleTunnelRequest', of: ['behindNginx'], to: ['handler'] },
  { title: `Culvert ÷ ${SUBJECTS.next.title}`, of: ['culvert'], to: ['next'] },
  { title: 'Culvert ÷ prototype with the main duties', of: ['culvert'], to: ['prototype'] },
  { title: 'Culvert ÷ bare node:http + undici', of: ['culvert'], to: ['bare'] },
  { title: 'prototype with the main duties ÷ bare node:http + undici', of: ['prototype'], to: ['bare'] },
  { title: 'the prototype without its log ÷ bare node:http + undici', of: ['withoutLog'], to: ['bare'] },
  {
    title: 'Culvert behind its nginx ÷ (nginx alone + bare node:http)',
    of: ['behindNginx'],
    to: ['nginx', 'bare'],
  },
  {
    title: 'Culvert behind its nginx ÷ bare node:http behind bare nginx',
    of: ['behindNginx'],
    to: ['chain'],
  },
  {
    title: 'bare node:http behind bare nginx ÷ (nginx alone + bare node:http)',
    of: ['chain'],
    to: ['nginx', 'bare'],
  },
]

/** Renders the ratio within each round, since a slow machine affects both sides. Ratios of subjects that were not measured are left out. */
function ratioTable(sideBySide: Comparison): string {
  const rows = RATIOS.map(({ title, of, to }) => [
    title,
    ...sideBySide.map(({ rounds }) =>
      isMeasured(rounds, [...of, ...to])
        ? show(
            rounds.map((round) => cpuIn(round, of) / cpuIn(round, to)),
            2,
          )
        : '',
    ),
  ])
  const isEmpty = ([, ...cells]: string[]) => cells.every((cell) => cell === '')
  return renderTable([['CPU compared', ...kindsOf(sideBySide)], ...rows.filter((row) => !isEmpty(row))])
}

function isMeasured(rounds: readonly ComparedRound[], subjects: readonly Subject[]): boolean {
  const measured = subjectsOf([{ rounds }])
  return subjects.every((subject) => measured.includes(subject))
}

function cpuIn(round: ComparedRound, subjects: readonly Subject[]): number {
  return subjects.reduce((sum, subject) => sum + sampleIn(round, subject).cpu, 0)
}

function situationTable({ tunnel, replicas }: Scenarios, outages: readonly Outage[]): string {
  const row = <Name extends string>(
    title: string,
    rounds: readonly { readonly [name in NoInfer<Name>]: Sample }[],
    of: Name,
    base: Name,
  ) => [
    title,
    ...showFigures(rounds.map((round) => round[of])),
    show(
      rounds.map((round) => round[of].cpu / round[base].cpu),
      2,
    ),
  ]
  const all = (rounds: readonly Round<string>[]) => {
    const names = Object.keys(rounds[0] ?? {})
    return names.map((name) => row(name, rounds, name, names[0] ?? ''))
  }
  return renderTable([
    ['Culvert, 3.3 KB errors', ...MEASURES, 'CPU ÷ that of the first'],
    ...all(tunnel),
    ...all(replicas),
    row('before an outage', outages, 'before', 'before'),
    row('while spooling', outages, 'spooling', 'before'),
    row(`while draining, beside ${LIVE_RATE} live ones a second`, outages, 'draining', 'before'),
  ])
}

function aloneTable(
  { saturated, steady, replicas, starts }: Alone,
  outages: readonly Outage[],
  plan: Plan,
): string {
  const count = (figure: number) => figure.toLocaleString('en')
  const drained = outages.map(({ drainedSeconds }) => drainedSeconds)
  return renderTable([
    ['Latency and start', ''],
    ...steady.flatMap((each) => steadyRows(each, saturated)),
    [
      `CPU per envelope of one replica at ${count(FIXED_RATE)} a second, µs`,
      show(replicas.map(({ one }) => one)),
    ],
    [
      'the same for each of two replicas on two cores, µs; the second shares its core with the load',
      show(replicas.map(({ two }) => two)),
    ],
    [
      'throughput of two replicas ÷ that of one, derived from this',
      show(
        replicas.map(({ one, two }) => (2 * one) / two),
        2,
      ),
    ],
    ['ready after, ms', show(starts)],
    [`${count(plan.outages.spooled)} that waited are delivered within, s`, show(drained, 1)],
  ])
}

function steadyRows({ rate, rounds }: Steady, saturated: Alone['saturated']): string[][] {
  const at = `at ${rate}`
  const row = (title: string, of: (round: Steady['rounds'][number]) => number) => [
    title,
    show(rounds.map(of), 2),
  ]
  return [
    ...STEADY_SUBJECTS.flatMap((subject) => {
      const { title } = SUBJECTS[subject]
      return [
        row(`p50 ${at}, ms: ${title}`, (round) => round[subject].p50),
        row(`p99 ${at}, ms: ${title}`, (round) => round[subject].p99),
        row(
          `CPU ${at} ÷ CPU at the maximum rate: ${title}`,
          (round) => round[subject].cpu / spreadOf(saturated.map((each) => each[subject].cpu)).median,
        ),
      ]
    }),
    row(
      `p99 ${at}, ms: Culvert behind its nginx, minus bare node:http behind bare nginx`,
      ({ behindNginx, chain }) => behindNginx.p99 - chain.p99,
    ),
  ]
}

function wayTable({ kind, rounds }: Comparison[number]): string {
  return renderTable([
    [kind, ...MEASURES],
    ...subjectsOf([{ rounds }]).map((subject) => [
      SUBJECTS[subject].title,
      ...showFigures(rounds.map((round) => sampleIn(round, subject))),
    ]),
  ])
}

/** Values in the order of `MEASURES`. */
function showFigures(rounds: readonly Sample[]): string[] {
  const figure = (name: keyof Sample, digits = 0) =>
    show(
      rounds.map((sample) => sample[name]),
      digits,
    )
  return [
    figure('cpu'),
    `${isIdle(rounds) ? '≥ ' : ''}${figure('rate')}`,
    figure('p50', 2),
    figure('p99', 2),
    show(rounds.map(({ rss }) => rss / MB)),
  ]
}

/** Returns whether the core of the server was idle at times: then the load, or other processes, limited the rate. */
function isIdle(rounds: readonly Sample[]): boolean {
  return spreadOf(rounds.map(({ cpu, rate }) => (cpu * rate) / 1e6)).median < BUSY
}

function show(figures: readonly number[], digits = 0): string {
  const { median, min, max } = spreadOf(figures)
  const text = (figure: number) =>
    figure.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
  return figures.length > 1 ? `${text(median)} (${text(min)}–${text(max)})` : text(median)
}
