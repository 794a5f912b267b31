/** Generates the reference pages of `docs/` from the code: rejection codes and the tables of the API; and those of the chart. */

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { REJECTIONS } from 'contract/rejections'
import { parse } from 'yaml'
import { ROOT } from '../environment.ts'
import { chartPages } from './chart.ts'
import { composeFile } from './compose.ts'
import { renderTable } from './tables.ts'

const REGENERATE = 'npm run config -- --docs'

/** Returns the text of each generated page by its path in the repository. */
export function referencePages(): Record<string, string> {
  return {
    'docs/rejections.md': rejectionsPage(),
    'docs/api.md': apiPage(),
    ...chartPages(),
    ...composeFile(),
  }
}

function rejectionsPage(): string {
  const rows = Object.entries(REJECTIONS).map(([code, { status, sentence, fix }]) => [
    `\`${code}\``,
    String(status),
    sentence,
    fix,
  ])
  return `# Rejections

Culvert rejects a request that Sentry would not accept, that Culvert may not forward, or that Culvert cannot process or store at the moment.
The console shows the last rejected request of each code under [Rejections](console.md).

<!-- Generated from contract/rejections.ts: ${REGENERATE} -->

A rejection is JSON. \`causes\` describes the problem of this request, without its payload:

\`\`\`json
{
  "detail": "The envelope has too many items. Split it into several envelopes.",
  "code": "too-many-items",
  "causes": ["It has more than 1000."],
  "request_id": "6f2a01c5a9c24a1f8d3c0b7c2f4d9e11",
  "reported": false
}
\`\`\`

\`request_id\` is also in the header \`X-Request-Id\` and in the logs of nginx and the tunnel. If nginx itself rejects a request to a tunnel path,
the response has the same JSON, without \`reported\`. If headers take longer than 10 s, or a body stops arriving for 10 s, nginx closes the connection without a response and logs 408.

\`reported\` is \`true\` if the tunnel reports the loss to Sentry in a client report. The SDK must not report it again then.

[\`sdk.js\`](install.md#storage-in-the-browser) keeps some rejected envelopes and sends them again; their outcome is \`deferred\`. Other SDKs drop the envelope after any of these responses.

## Codes

${renderTable(['code', 'status', 'problem', 'remedy'], rows)}

## Other responses

| case | status |
| --- | --- |
| Sentry responded | Sentry's status and body, with \`X-Sentry-Rate-Limits\` and \`Retry-After\`. A 429 without the first of them gets one that names all categories |
| the envelope is stored in the spool | 200 \`{"id":"…"}\` with \`x-culvert-outcome: spooled\` |
| all items are rate-limited | 429 with \`X-Sentry-Rate-Limits\` for the categories concerned |
| all items are [filtered](filters.md) | 200 \`{"id":"…"}\`; with \`x-culvert-outcome: spooled\` for a duplicate of a pending envelope |
| \`{}\`, the SDK's connectivity probe | 200 |

Each response to an envelope has the header \`X-Culvert-Receipt\` with a token, for which the [admin API](api.md#receipts) of the tunnel that responded returns the receipt.

See also: [configuration](configuration.md), [doctor](operations.md#check-the-deployment), [runbook](runbook.md).
`
}

function metricsTable(): string {
  const metrics = readMetrics(runProgram('tunnel/src/commands/describe.ts', 'metrics')).filter(
    ({ name }) => !/^culvert_(process|nodejs)_/.test(name),
  )
  const rows = metrics.map(({ name, type, labels, help }) => [
    `\`${name}\``,
    type,
    labels.map((label) => `\`${label}\``).join(', '),
    help,
  ])
  return renderTable(['metric', 'type', 'labels', 'meaning'], rows)
}

type Metric = { name: string; type: string; labels: string[]; help: string }

/** Reads names, types, help and label names of the text format of Prometheus. */
function readMetrics(text: string): Metric[] {
  const types = new Map([...text.matchAll(/^# TYPE (\S+) (\w+)$/gm)].map(([, name, type]) => [name, type]))
  return [...text.matchAll(/^# HELP (\S+) (.+)$/gm)].map(([, name = '', help = '']) => {
    const [, first = ''] = new RegExp(`^${name}(?:_bucket)?\\{(.*)\\} `, 'm').exec(text) ?? []
    const labels = [...first.matchAll(/(\w+)="/g)].flatMap(([, label = '']) => (label === 'le' ? [] : label))
    return { name, type: types.get(name) ?? '', labels, help }
  })
}

function runProgram(script: string, argument: string): string {
  const { stdout, stderr, status } = spawnSync(process.execPath, [join(ROOT, script), argument], {
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`${script} ${argument} failed: ${stderr}`)
  return stdout.trim()
}

type Operation = { summary: string; description?: string }

/** Replaces the table of routes in `docs/api.md` by the operations of `docs/openapi.yaml`, and the table of metrics by those of the code. */
function apiPage(): string {
  const page = readFileSync(join(ROOT, 'docs/api.md'), 'utf8')
  const { paths }: { paths: Record<string, Record<string, Operation>> } = parse(
    readFileSync(join(ROOT, 'docs/openapi.yaml'), 'utf8'),
  )
  const rows = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([method]) => method !== 'parameters')
      .map(([method, { summary }]) => [`\`${method.toUpperCase()} ${path}\``, `${summary}.`]),
  )
  const routes = renderTable(['request', 'result'], rows)
  const withRoutes = putTable(page, 'openapi.yaml', '<!-- end of the table -->', routes)
  return putTable(withRoutes, 'tunnel/src/observe/metrics.ts', '<!-- end of the metrics -->', metricsTable())
}

/** Replaces the text between the comment that names the source and the end. */
function putTable(page: string, source: string, end: string, table: string): string {
  const begin = `<!-- Generated from ${source}: ${REGENERATE} -->\n`
  const [from, to] = [page.indexOf(begin), page.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`docs/api.md has no place for the table from ${source}.`)
  return `${page.slice(0, from + begin.length)}\n${table}\n\n${page.slice(to)}`
}
