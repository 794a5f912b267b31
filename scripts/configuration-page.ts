/** Writes `docs/configuration.md` from the table of settings. */

import type { Process, Setting } from '../tunnel/src/config/declarations.ts'
import { rowOf, SETTING_NAMES } from '../tunnel/src/config/settings.ts'
import { formatSetting, NONE } from '../tunnel/src/config/settings-reader.ts'

const PROCESSES: { readonly [name in Process]: string } = {
  nginx: 'nginx',
  tunnel: 'tunnel',
  web: 'web',
  compose: 'Compose',
  build: 'image build',
}

const withFiles = SETTING_NAMES.filter((name) => rowOf(name).hasFile).map((name) => `\`${name}_FILE\``)

const INTRODUCTION = `# Configuration

<!-- Generated from tunnel/src/config/settings.ts: npm run config -- --docs -->

All settings are environment variables. Every process reads the same environment, takes the settings that concern it, and does
not start when one of them is wrong: it lists every problem with a remedy. \`npm start\` and \`npm run deploy\` check all settings
before they build anything; with \`docker compose\` alone, \`docker compose logs\` shows the problems.

- \`npm run config\` prints the settings in force, without secrets.
- Names that look like a misspelt setting are reported at start and have no effect. Compose passes only the names that
  \`docker-compose.yml\` lists, and reports none.
- Settings that are to last belong into a file \`.env\`, which every command and Compose read. On Kubernetes they belong into
  \`deploy/kubernetes/settings.env\`, and secrets into the Secret \`culvert\`.
- An empty value means the default. Sizes, times and rates are whole numbers.

## Secrets

A secret can come from a file: ${withFiles.join(', ')} hold its path. Compose
mounts the file into the containers that need it, so that \`docker inspect\` does not show the secret. Users 1000 and 101 read it
there: make the file readable for all, in a folder that only you may enter.

\`npm start\` generates an operator password where none is set. \`npm run deploy\` knows it; \`docker compose\` does not. This
command keeps it for all of them:

\`\`\`sh
echo "OPERATOR_PASSWORD=$(cat .culvert/operator-password)" >> .env && chmod 600 .env
\`\`\`
`

/** Notes below the tables, by section. */
const NOTES: { readonly [section: string]: string } = {
  'Spool and inbox': `In containers \`.culvert\` is the volume \`spool\`, and \`INBOX_FILE\`, \`SPOOL_URL\` and \`BODY_DIR\` name paths in the container. A tunnel
can write below \`/spool\`, and does not start with a path that it cannot write to.`,
  Processes: `\`npm start\`, the images and Compose set these themselves. Set them where you start the processes on your own.`,
}

export function configurationPage(): string {
  const titles = [...new Set(SETTING_NAMES.map((name) => rowOf(name).section))]
  return [INTRODUCTION, ...titles.map(tableOf)].join('\n')
}

function tableOf(title: string): string {
  const rows = SETTING_NAMES.filter((name) => rowOf(name).section === title).map((name) => {
    const setting = rowOf(name)
    const readBy = setting.readBy.map((process) => PROCESSES[process]).join(', ')
    return [`\`${name}\``, defaultOf(setting), acceptedBy(setting), readBy, setting.help]
  })
  const header = [
    ['setting', 'default', 'values', 'read by', 'meaning'],
    ['---', '---', '---', '---', '---'],
  ]
  const lines = [...header, ...rows].map(
    (cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`,
  )
  const note = NOTES[title]
  return [`## ${title}\n`, ...lines, ...(note ? [`\n${note}`] : []), ''].join('\n')
}

function defaultOf(setting: Setting): string {
  if (setting.defaultText) return setting.defaultText
  const shown = formatSetting(setting, setting.default)
  if (shown === NONE) return 'none'
  return typeof setting.default === 'number' ? shown : `\`${shown}\``
}

function acceptedBy({ values = '', unit = '' }: Setting): string {
  return unit === 'port' ? values : `${values} ${unit}`.trim()
}
