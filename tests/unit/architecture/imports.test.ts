/** Imports point down the order of subjects, and never form a cycle. */

import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  findCycles,
  findOrderViolations,
  type Order,
  readAllImports,
  readImports,
} from '../../support/architecture/imports.ts'

/** Top to bottom. A module imports from its own subject and from lines below; subjects of one line do not import each other. */
const TUNNEL: Order = [
  ['main', 'commands'],
  ['run'],
  ['tunnel'],
  ['services'],
  ['admin', 'http', 'config', 'policy-services'],
  ['forward', 'store', 'policy', 'observe', 'sdk', 'reports'],
  ['pipeline'],
  ['envelope'],
]

const WEB: Order = [
  ['instrumentation', 'instrumentation-client', 'next.config', 'proxy', 'build-standalone', 'app', 'pages'],
  ['startup'],
  ['features/console', 'features/lab', 'features/connection-check'],
  ['features'], // parts that several features show
  ['ui'],
  ['lib'],
]

const CONSOLE: Order = [
  ['data-access'], // loads what each page shows
  ['shared-monitor'], // also keeps the history of rejections
  ['overview', 'setup'], // sum up the other pages
  ['find'], // what became of a report
  ['live-feed', 'policies', 'rejections', 'replicas', 'docs'],
  ['spool'],
  ['projects', 'inbox'],
  ['.'], // what several pages show, and the session
]

describe.each([
  ['tunnel/src', TUNNEL],
  ['web', WEB],
  ['web/features/console', CONSOLE],
])('The modules of %s', (root, order) => {
  const imports = readImports(root)

  it('import only from their own row and from rows below it', () => {
    expect(findOrderViolations(imports, order)).toEqual([])
  })

  it('do not import each other in a cycle', () => {
    expect(findCycles(imports)).toEqual([])
  })
})

/** Program of the image of the tunnel: it checks the settings of all containers, and renders those of nginx. */
const CHECK_BEFORE_START = 'write-config.ts'

it.each([...['contract', 'doctor', 'scripts', 'web', 'deploy/nginx']])(
  'the files of %s do not import the sources of the tunnel',
  (root) => {
    const isOfTunnel = (path: string) => join(root, path).startsWith('tunnel/src/')
    const modules = [...readAllImports(root)].filter(([file]) => file !== CHECK_BEFORE_START)
    expect(modules.filter(([, imported]) => imported.some(isOfTunnel))).toEqual([])
  },
)

it.each(['contract', 'tunnel/sdk', 'scripts', 'doctor', 'bench'])(
  'the files of %s have no import cycle',
  (root) => {
    expect(findCycles(readImports(root))).toEqual([])
  },
)
