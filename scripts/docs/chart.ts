/** Generates the README of the Helm chart from the comments of its values, and the settings in the schema of the values. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { rowOf, SETTING_NAMES, type SettingName } from 'contract/settings'
import { PROCESSES } from 'contract/settings/processes'
import { parse } from 'yaml'
import { ROOT } from '../environment.ts'
import { renderTable } from './tables.ts'

const FOLDER = 'deploy/helm/culvert'
const read = (file: string) => readFileSync(join(ROOT, FOLDER, file), 'utf8')

/** Files that the chart contains as copies: Helm reads none outside its folder, and some tools drop symbolic links. */
const COPIES = {
  'files/rules.yml': 'deploy/prometheus/rules.yml',
  'files/dashboard.json': 'deploy/grafana/culvert.json',
}
/** Settings that the chart sets from other values. */
const SET_BY_CHART: string[] = [
  'ALERT_URL',
  'APP_URL',
  'CA_FILE',
  'HEARTBEAT_URL',
  'MIRROR_DSN',
  'SCRUB_RULES',
  'SENTRY_DSN',
  'SOURCE_MAPS',
  'SPOOL_URL',
  'TLS_FOLDER',
]
/** Setting of a process that an operator may have to change. */
const OPEN_OF_PROCESSES: string[] = ['EDGE']

/** Pattern of URLs without a login: `settings` are in a ConfigMap. */
const NO_LOGIN = '^[^@]*$'

type Value = { path: string; default: string; help: string }

/** Returns the text of each generated file by its path in the repository. */
export function chartPages(): Record<string, string> {
  return {
    [`${FOLDER}/README.md`]: readme(),
    [`${FOLDER}/values.schema.json`]: schema(),
    ...Object.fromEntries(
      Object.entries(COPIES).map(([to, from]) => [`${FOLDER}/${to}`, readFileSync(join(ROOT, from), 'utf8')]),
    ),
  }
}

/** Returns the names of the settings that belong in the value `settings`. */
export function settingsOfChart(): SettingName[] {
  return SETTING_NAMES.filter((name) => {
    const { section, secret, readBy } = rowOf(name)
    const isRead = readBy.some((process) => process === 'nginx' || process === 'tunnel' || process === 'web')
    const isOpen = section !== PROCESSES || OPEN_OF_PROCESSES.includes(name)
    return isRead && isOpen && !secret && !SET_BY_CHART.includes(name)
  })
}

function schema(): string {
  const written: { properties: Record<string, unknown> } = JSON.parse(read('values.schema.json'))
  const properties = Object.fromEntries(
    settingsOfChart().map((name) => {
      const { help, isProxy } = rowOf(name)
      return [name, { type: 'string', ...(isProxy && { pattern: NO_LOGIN }), description: help }]
    }),
  )
  written.properties.settings = { type: 'object', additionalProperties: false, properties }
  return `${JSON.stringify(written, null, 2)}\n`
}

/**
 * Reads the values with their comments in the format of helm-docs: a line `# -- text` above a value, and a line
 * `# @default -- text` for a default that the table shows in other words.
 */
export function readValues(yaml: string): Value[] {
  const values = parse(yaml)
  const found: Value[] = []
  const parents: string[] = []
  let help: string | undefined
  let shown: string | undefined
  for (const line of yaml.split('\n')) {
    const [, comment] = /^ *# -- (.+)$/.exec(line) ?? []
    const [, byDefault] = /^ *# @default -- (.+)$/.exec(line) ?? []
    const [, indent = '', key] = /^( *)([\w-]+):/.exec(line) ?? []
    if (comment !== undefined) help = comment
    else if (byDefault !== undefined) shown = byDefault
    else if (key !== undefined) {
      parents.splice(indent.length / 2, Number.POSITIVE_INFINITY, key)
      if (help !== undefined) {
        const value = parents.reduce((outer, name) => outer[name], values)
        found.push({ path: parents.join('.'), default: shown ?? `\`${JSON.stringify(value)}\``, help })
      }
      help = shown = undefined
    }
  }
  return found
}

function readme(): string {
  const { name, description, version }: Record<string, string> = parse(read('Chart.yaml'))
  const rows = readValues(read('values.yaml')).map((value) => [
    `\`${value.path}\``,
    value.default,
    value.help,
  ])
  return `# Chart ${name}

${description} Version ${version}.

[docs/kubernetes.md](../../../docs/kubernetes.md) describes the installation. In short, with the chart of a clone:

\`\`\`sh
helm install culvert ./${FOLDER} --namespace culvert --create-namespace \\
  --set image.prefix=registry.example/culvert --set secrets.SENTRY_DSN=https://key@o1.ingest.us.sentry.io/2
\`\`\`

It installs nginx, the tunnels with an autoscaler, web, and three NATS servers that store the spool. helm refuses values
that the schema \`values.schema.json\` does not allow, including names of settings that do not exist.

## Values

Fields of all pods, from \`imagePullSecrets\` to \`containerSecurityContext\`, may also be set for one component: \`tunnel.podAnnotations\`,
\`nats.tolerations\`. The component's maps are merged with those of all pods, and its lists replace them, so that \`tolerations: []\` undoes the list for one component.

<!-- Generated from values.yaml: npm run config -- --docs -->

${renderTable(['value', 'default', 'meaning'], rows)}
`
}
