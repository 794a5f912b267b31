/** The table of settings agrees with the processes, the compose files and the documentation. */

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import type { Process } from '../../../contract/settings/declarations.ts'
import { CHOSEN_NAMES, type Environment, rowOf, SETTING_NAMES } from '../../../contract/settings.ts'
import { formatSetting } from '../../../contract/settings-reader.ts'
import { readNginxConfig } from '../../../deploy/nginx/render.ts'
import { configurationPage } from '../../../scripts/config.ts'
import { readConfig } from '../../../tunnel/src/config/config.ts'
import { readConfig as readWebConfig } from '../../../web/lib/config.ts'
import { ROOT } from '../../support/node.ts'

const read = (file: string) => readFileSync(resolve(ROOT, file), 'utf8')

/** Returns the variables that a process reads by the table, with those of secret files. */
function namesFor(process: Process): string[] {
  return SETTING_NAMES.filter((name) => rowOf(name).readBy.includes(process)).flatMap((name) =>
    rowOf(name).hasFile ? [name, `${name}_FILE`] : [name],
  )
}

/** Variables that Compose sets for other programs. */
const INTERNAL = new Set(['HOSTNAME', 'NATS_USER', 'NATS_PASSWORD'])

/** Variables of the images, by which `npm run deploy` tells them apart. */
const OF_IMAGES = ['IMAGE_TAG', 'REVISION']
/** Variable that Kubernetes sets in each container. */
const OF_KUBERNETES = 'KUBERNETES_SERVICE_HOST'

describe('The table of settings', () => {
  it.each<[Process, (env: Environment) => void]>([
    ['nginx', (env) => void readNginxConfig(env, [])],
    ['tunnel', (env) => void readConfig(env)],
    ['web', (env) => void readWebConfig(env, [])],
  ])('lists exactly the variables that %s reads', (process, readAll) => {
    const names = new Set<string>()
    readAll(new Proxy<Environment>({}, { get: (_, name) => void names.add(String(name)) }))
    const upper = [...names].filter((name) => name === name.toUpperCase())
    expect(upper.filter((name) => ![...OF_IMAGES, OF_KUBERNETES].includes(name)).sort()).toEqual(
      namesFor(process).sort(),
    )
    const lower = [...names].filter((name) => name !== name.toUpperCase()).map((name) => name.toUpperCase())
    expect(
      lower.filter((name) => !SETTING_NAMES.some((known) => known === name && rowOf(known).isProxy)),
    ).toEqual([])
  })

  it('matches docs/configuration.md, which npm run config -- --docs writes', () => {
    expect(read('docs/configuration.md')).toBe(configurationPage())
  })
})

const COMPOSE_FILES = [
  'docker-compose.yml',
  'deploy/bugsink.yml',
  'deploy/released.yml',
  'deploy/tls.yml',
  'deploy/tunnel-origin.yml',
  'deploy/two-nginx.yml',
]

describe('The compose files', () => {
  const { services } = parse(read('docker-compose.yml'), { merge: true })

  // Set by the images.
  it.each<[Process, string[]]>([
    ['tunnel', ['HOST', 'PORT']],
    ['web', ['PORT']],
  ])('pass to %s exactly the settings that it reads', (process, left) => {
    const { environment } = services[process]
    const passed = Object.keys(environment).filter((name) => !INTERNAL.has(name))
    expect([...passed, ...left].sort()).toEqual(namesFor(process).sort())
    const fixed = passed.filter((name) => environment[name] !== null)
    expect(
      fixed.filter((name) => !String(environment[name]).includes(`\${${name}:`) && !isChosen(name)),
      'passed with a fixed value',
    ).toEqual([])
  })

  it('pass to the check before the start what any process reads, and what the images and Compose do not set', () => {
    const passed = Object.keys(services['nginx-config'].environment)
    const all = (['nginx', 'tunnel', 'web'] as const).flatMap(namesFor)
    const chosen = ['LISTEN', 'TUNNELS', 'WEB'] // of nginx
    expect(passed.toSorted()).toEqual(
      [...new Set([...all.filter((name) => !isChosen(name)), ...chosen])].sort(),
    )
  })

  it('publish only the site, unless deploy/tunnel-origin.yml is added', () => {
    expect(services.nginx.ports).toEqual([expect.stringMatching(/:8080$/)])
    expect(parse(read('deploy/tunnel-origin.yml')).services.nginx.ports).toEqual(['127.0.0.1:8081:8081'])
  })

  it('use the settings of Compose with the defaults of the table', () => {
    const text = COMPOSE_FILES.map(read).join('\n')
    const uses = [...text.matchAll(/(?<!\$)\$\{([A-Z0-9_]+)(?::-([^}]*))?/g)]
    const isPlain = (name: string) =>
      !/_FILE$|^(SCRUB_RULES|SOURCE_MAPS|EDGE|COMPOSE_(PROJECT_NAME|ENV_FILES))$/.test(name) // others are mounted, and EDGE has a default of its own
    const plain = uses.filter(([, name = '']) => isPlain(name))
    const ofCompose = namesFor('compose').filter((name) => !name.endsWith('_FILE'))
    expect([...new Set(plain.map(([, name]) => name))].sort()).toEqual([...ofCompose, ...OF_IMAGES].sort())
    for (const [use, name, fallback] of plain) {
      const known = SETTING_NAMES.find((each) => each === name)
      if (known && fallback) expect(fallback, use).toBe(formatSetting(rowOf(known), rowOf(known).default))
    }
  })
})

describe('The image of web', () => {
  it.each(['README.md', 'docs'])('copies %s, which web shows as documentation', (name) => {
    expect(read('Dockerfile.web')).toMatch(new RegExp(`^COPY ${name} `, 'm'))
    expect(read('.dockerignore').split('\n')).toContain(`!${name}`)
  })
})

function isChosen(name: string): boolean {
  return CHOSEN_NAMES.some((chosen) => chosen === name.replace(/_FILE$/, ''))
}
