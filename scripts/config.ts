/** Prints the settings in force, without secrets, or every problem with them. Generates the reference pages of `docs/`. */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CHOSEN_NAMES, type Environment, listSections, rowOf, SETTING_NAMES } from 'contract/settings'
import type { Process, Setting } from 'contract/settings/declarations'
import { PROCESSES } from 'contract/settings/processes'
import { REPORTS } from 'contract/settings/web-settings'
import { formatSetting, NONE, SettingsReader, type ShownSettings } from 'contract/settings-reader'
import { renderNginxFor } from '../deploy/nginx/render.ts'
import { readConfig as readWebConfig } from '../web/lib/config.ts'
import { referencePages } from './docs/reference-pages.ts'
import { renderTable } from './docs/tables.ts'
import { findLoops } from './dsn-loop.ts'
import {
  describeTunnelSettings,
  ensurePassword,
  ROOT,
  readEnvironment,
  rejectWrongSettings,
  runCommand,
  UserError,
  warnOfUnknown,
  withKeptPassword,
} from './environment.ts'

const USAGE = `npm run config
Prints all settings of nginx, web and the tunnels with their values, without secrets, and warns of misspelt and removed names.
docs/configuration.md describes each setting.
  --nginx  print the configuration of nginx with these settings instead, for nginx -p FOLDER -c FILE: npm run --silent config -- --nginx > FILE
  --docs   write the generated pages of docs/ and of the Helm chart instead`

/** Prints the settings by section. Throws a `UserError` that names every problem with them. */
async function printSettings(env: Environment): Promise<void> {
  warnOfUnknown(env)
  rejectWrongSettings(env, 'Culvert would not start with these settings')
  for (const sentence of await findLoops(env)) console.error(sentence)
  const shown = effectiveSettings(env)
  const width = Math.max(...SETTING_NAMES.map(({ length }) => length))
  console.log(
    'Settings with their values. * marks those that are set; the others are defaults. Secrets are not shown.',
  )
  for (const { title, names } of listSections()) {
    console.log(`\n${title}`)
    for (const name of names)
      console.log(`${isSet(env, name) ? '*' : ' '} ${name.padEnd(width)}  ${shown[name]}`)
  }
}

/** Prints the rendered `nginx.conf`. Throws a `UserError` that names every problem with the settings. */
function printNginx(env: Environment): void {
  const problems: string[] = []
  const text = renderNginxFor(env, problems)
  if (problems.length > 0) throw new UserError('nginx.conf could not be rendered.', problems.join('\n'))
  process.stdout.write(text)
}

/** Returns the settings as the tunnels and web read them, and as Compose reads the others. */
function effectiveSettings(env: Environment): ShownSettings {
  const [all, web] = [new SettingsReader(env, []), new SettingsReader(env, [])]
  for (const name of SETTING_NAMES) all.read(name)
  readWebConfig(env, [], web)
  return { ...all.shown, ...web.shown, ...describeTunnelSettings(env).values?.shown }
}

function isSet(env: Environment, name: string): boolean {
  return [name, `${name}_FILE`, name.toLowerCase()].some((each) => Boolean(env[each]?.trim()))
}

const READERS: { readonly [name in Process]: string } = {
  nginx: 'nginx',
  tunnel: 'tunnel',
  web: 'web',
  compose: 'Compose',
}

const withFiles = SETTING_NAMES.filter((name) => rowOf(name).hasFile && !CHOSEN_NAMES.includes(name)).map(
  (name) => `\`${name}_FILE\``,
)

const INTRODUCTION = `# Configuration

For operators: all settings with their defaults. They are environment variables, or lines of the file \`.env\`, which every command and Compose read. On Kubernetes, use the value \`settings\` of the [chart](kubernetes.md), and \`secrets\` for secrets.
A process does not start with a wrong setting, and lists every problem with a remedy.

<!-- Generated from contract/settings.ts: npm run config -- --docs -->

- \`npm run config\` prints all settings with their values, without secrets. \`npm start\` and \`npm run deploy\` check them before they build anything. With
  \`docker compose\` alone, \`docker compose logs\` shows the problems.
- A misspelt or removed name has no effect. The commands and the processes warn of such names. With \`docker compose\` alone, \`docker compose logs nginx-config\` has the warning.
- An empty value means the default. Sizes and times are whole numbers.

See also: [operations](operations.md), [storage](storage.md), [commands](operations.md#commands).
`

const SECRETS = `## Secrets

A secret can be read from a file: set ${withFiles.join(', ')} to the path of the file. Compose
mounts the file into the containers that need it, so that \`docker inspect\` does not show the secret. The containers read it as the users 1000 and 101:
make the file readable for every user (\`chmod 644\`), and put it into a folder that only you can open (\`chmod 700\`).

\`npm start\` generates an operator password if none is set. \`npm run deploy\` uses it; \`docker compose\` only if you write it to \`.env\`:

<!-- not tested: it changes .env; run by hand -->
\`\`\`sh
echo "OPERATOR_PASSWORD=$(cat .culvert/operator-password)" >> .env && chmod 600 .env
\`\`\`
`

/** Notes below the tables, by section. */
const NOTES: { readonly [section: string]: string } = {
  'Spool and inbox': `In containers, the volume \`spool\`, mounted at \`/spool\`, replaces \`.culvert\`. Set \`SPOOL_URL\` and \`BODY_DIR\` to paths below \`/spool\`.
A tunnel does not start if it cannot write to one of them.`,
  [REPORTS]:
    'They apply to the pages and the server of `web`, and those that the tunnel reads to every page with `sdk.js`. They do not affect an SDK in your app.',
  [PROCESSES]:
    '`npm start`, the images, Compose and the Helm chart set these. Set them only in tests, and where you start the processes without these tools.',
}

function writeGeneratedPages(): void {
  const pages = { 'docs/configuration.md': configurationPage(), ...referencePages() }
  for (const [path, text] of Object.entries(pages)) writeFileSync(join(ROOT, path), text)
}

/** Returns the text of `docs/configuration.md`. */
export function configurationPage(): string {
  const [essentials = '', ...others] = listSections().map(tableOf)
  return [INTRODUCTION, essentials, SECRETS, ...others].join('\n')
}

function tableOf({ title, names }: ReturnType<typeof listSections>[number]): string {
  const rows = names.map((name) => {
    const setting = rowOf(name)
    const readBy = setting.readBy.map((process) => READERS[process]).join(', ')
    return [`\`${name}\``, defaultOf(setting), acceptedBy(setting), readBy, setting.help]
  })
  const header = ['setting', 'default', 'values', 'read by', 'meaning']
  const note = NOTES[title]
  return [`## ${title}\n`, renderTable(header, rows), ...(note ? [`\n${note}`] : []), ''].join('\n')
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

if (import.meta.main)
  await runCommand({ name: 'npm run config', usage: USAGE, flags: ['docs', 'nginx'] }, async (flags) => {
    if (flags.has('docs')) return writeGeneratedPages()
    if (flags.has('nginx')) return printNginx(readEnvironment())
    const env = readEnvironment()
    ensurePassword(env)
    await printSettings(withKeptPassword(env))
  })
