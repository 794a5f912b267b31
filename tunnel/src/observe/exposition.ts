/** Declarations of metrics, and the text format of Prometheus. */

import type { SpoolStatus } from 'contract/spool'
import type { Durations, Table } from './counters.ts'

/** Value of one series. Several of the same labels add up. `suffix` follows the name of the metric. */
export type Sample<Label extends string = string> = {
  labels?: Readonly<Record<Label, string>>
  value: number
  suffix?: string
}

/** Returns the samples of one scrape. The status of the spool is read once for all metrics. */
export type Read<Label extends string = string> = (spool: SpoolStatus) => readonly Sample<NoInfer<Label>>[]

/** Declaration of a metric. Its label values are closed sets: outcomes, codes, configured projects, known item types, categories, status classes. */
export type Metric = {
  name: string
  type: 'counter' | 'gauge' | 'histogram'
  labels: readonly string[]
  help: string
  read: Read
}

/** Declares a metric. `read` gives a value to each of the labels. */
type Declare = <Label extends string>(
  name: string,
  labels: readonly Label[],
  help: string,
  read: Read<Label>,
) => Metric

export const counter: Declare = (name, labels, help, read) => ({ name, type: 'counter', labels, help, read })

export const gauge: Declare = (name, labels, help, read) => ({ name, type: 'gauge', labels, help, read })

/** Declares a counter that shows a table of counts. */
export function counts(
  name: string,
  help: string,
  table: Pick<Table<Record<string, string>, { count: number }>, 'all' | 'labels'>,
): Metric {
  return counter(name, table.labels, help, () =>
    table.all.map(({ labels, count }) => ({ labels, value: count })),
  )
}

export function histogram(
  name: string,
  help: string,
  table: Pick<Table<Record<string, string>, { durations: Durations }>, 'all' | 'labels'>,
): Metric {
  const samplesOf = ({ labels, durations }: (typeof table.all)[number]): Sample[] => {
    const buckets = durations.cumulative()
    return [
      ...buckets.map(([le, value]) => ({ suffix: '_bucket', labels: { le, ...labels }, value })),
      { suffix: '_sum', labels, value: durations.sum },
      { suffix: '_count', labels, value: buckets.at(-1)?.[1] ?? 0 },
    ]
  }
  return { name, type: 'histogram', labels: table.labels, help, read: () => table.all.flatMap(samplesOf) }
}

/** Formats a metric as text: https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format. */
export function formatMetric({ name, help, type, read }: Metric, spool: SpoolStatus): string {
  const values = new Map<string, number>()
  for (const { suffix = '', labels = {}, value } of read(spool)) {
    const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeValue(text)}"`)
    const series = `${name}${suffix}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''}`
    values.set(series, (values.get(series) ?? 0) + value)
  }
  const lines = Array.from(values, ([series, value]) => `${series} ${value}`)
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines, ''].join('\n')
}

function escapeValue(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"')
}
