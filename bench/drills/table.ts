/** Table of drills for `docs/benchmarks.md`. */

import type { Result } from './drill.ts'

const HEADER = [
  'drill',
  'load',
  'not accepted',
  'lost',
  'duplicates',
  'p99',
  'how it was reported',
  'what to do',
]

export function drawTable(results: readonly Result[]): string {
  const rows = results.map((result) => [
    result.title,
    `${format(result.posted)} (${result.rate}/s)`,
    ...[result.notAccepted, result.lost, result.duplicates].map(format),
    `${format(result.p99)} ms`,
    describeSigns(result),
    result.remedy,
  ])
  return [HEADER, HEADER.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

function describeSigns({ seen, missed }: Result): string {
  return [...seen, ...missed.map((words) => `not seen: ${words}`)].join('; ') || '–'
}

function format(count: number): string {
  return Math.round(count).toLocaleString('en')
}
