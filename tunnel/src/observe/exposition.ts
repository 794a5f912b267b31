/** Declarations of metrics, and the text format of Prometheus. */

import type { SpoolStatus } from 'contract/spool'
import type { Durations, Table } from './counters.ts'

/** Value of one series. Several of the same labels add up. `suffix` follows the name of the metric. */
export type Sample = { labels?: Readonly<Record<string, string>>; value: number; suffix?: string }

/** Declaration of a metric. Its label values are closed sets: outcomes, codes, configured projects, known item types, categories, status classes. */
export type Metric = {
  name: string
  help: string
  type: 'counter' | 'gauge' | 'histogram'
  /** Returns the samples of one scrape. The status of the spool is read once for all metrics. */
  read: (spool: SpoolStatus) => readonly Sample[]
}

export function counter(name: string, help: string, read: Metric['read']): Metric {
  return { name, help, type: 'counter', read }
}

export function gauge(name: string, help: string, read: Metric['read']): Metric {
  return { name, help, type: 'gauge', read }
}

export function histogram(
  name: string,
  help: string,
  table: Pick<Table<Record<string, string>, { durations: Durations }>, 'all'>,
): Metric {
  const samplesOf = ({ labels, durations }: (typeof table.all)[number]): Sample[] => {
    const buckets = durations.cumulative()
    return [
      ...buckets.map(([le, value]) => ({ suffix: '_bucket', labels: { le, ...labels }, value })),
      { suffix: '_sum', labels, value: durations.sum },
      { suffix: '_count', labels, value: buckets.at(-1)?.[1] ?? 0 },
    ]
  }
  return { name, help, type: 'histogram', read: () => table.all.flatMap(samplesOf) }
}

export function countsOf({ all }: Pick<Table<Record<string, string>, { count: number }>, 'all'>): Sample[] {
  return all.map(({ labels, count }) => ({ labels, value: count }))
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
