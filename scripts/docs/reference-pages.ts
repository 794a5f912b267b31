/** Generates the reference pages of `docs/` from the code: the tables of the API; and those of the chart. */

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { REJECTIONS } from 'contract/rejections'
import { ROOT } from '../environment.ts'
import { chartPages } from './chart.ts'
import { composeFile } from './compose.ts'
import { renderTable } from './tables.ts'

const REGENERATE = 'npm run config -- --docs'

/** Returns the text of each generated page by its path in the repository. */
export function referencePages(): Record<string, string> {
  return {
    'docs/api.md': apiPage(),
    ...chartPages(),
    ...composeFile(),
  }
}

function rejectionsTable(): string {
  const rows = Object.entries(REJECTIONS).map(([code, { status, sentence, fix }]) => [
    `\`${code}\``,
    String(status),
    sentence,
    fix,
  ])
  return renderTable(['code', 'status', 'problem', 'remedy'], rows)
}

type Metric = { name: string; type: string; labels: string[]; help: string }

function metricsTable(): string {
  const metrics: Metric[] = JSON.parse(runProgram('tunnel/src/commands/describe.ts', 'metrics'))
  const rows = metrics.map(({ name, type, labels, help }) => [
    `\`${name}\``,
    type,
    labels.map((label) => `\`${label}\``).join(', '),
    help,
  ])
  return renderTable(['metric', 'type', 'labels', 'meaning'], rows)
}

function runProgram(script: string, argument: string): string {
  const { stdout, stderr, status } = spawnSync(process.execPath, [join(ROOT, script), argument], {
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`${script} ${argument} failed: ${stderr}`)
  return stdout.trim()
}

/** Replaces the tables of rejection codes and metrics in `docs/api.md` by those of the code. */
function apiPage(): string {
  const page = readFileSync(join(ROOT, 'docs/api.md'), 'utf8')
  const withCodes = putTable(page, 'contract/rejections.ts', '<!-- end of the codes -->', rejectionsTable())
  return putTable(withCodes, 'tunnel/src/observe/metrics.ts', '<!-- end of the metrics -->', metricsTable())
}

/** Replaces the text between the comment that names the source and the end. */
function putTable(page: string, source: string, end: string, table: string): string {
  const begin = `<!-- Generated from ${source}: ${REGENERATE} -->\n`
  const [from, to] = [page.indexOf(begin), page.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`docs/api.md has no place for the table from ${source}.`)
  return `${page.slice(0, from + begin.length)}\n${table}\n\n${page.slice(to)}`
}
