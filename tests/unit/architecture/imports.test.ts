/** Imports point down the order of subjects, and never form a cycle. */

import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  findCycles,
  findOrderViolations,
  importsOf,
  type Order,
  readAllImports,
  readImports,
} from '../../support/architecture/imports.ts'

/** Top to bottom. A module imports from its own subject and from lines below; subjects of one line do not import each other. */
const TUNNEL: Order = [
  ['main', 'describe-command', 'policy-command'],
  ['run'],
  ['tunnel'],
  ['services'],
  ['admin'],
  ['http'],
  ['forwarding'], // opens the spool and the upstreams from the settings: above `config`, and below those that use it
  ['config'], // uses the parsers of the subjects below; none of them imports it
  ['inbox', 'sdk'],
  ['spool'],
  ['telemetry'],
  ['upstream'],
  ['policy'],
  ['pipeline'], // the context and the outcome that every stage has
  ['projects'],
  ['reports'], // browser reports, which become envelopes
  ['envelope'],
  ['body'],
  ['hosts', 'bounded-map'],
]

const WEB: Order = [
  [
    'instrumentation',
    'instrumentation-client',
    'next.config',
    'proxy',
    'compress-static',
    'build-docs',
    'build-replay-frame',
    'copy-source-maps',
    'copy-styles',
    'app',
    'pages',
  ],
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
  ['live-feed', 'policies', 'rejections', 'projects', 'spool', 'inbox', 'replicas', 'docs'],
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

it.each([...['contract', 'doctor', 'scripts', 'web', 'deploy/nginx']])(
  'the files of %s do not import the sources of the tunnel',
  (root) => {
    const isOfTunnel = (path: string) => join(root, path).startsWith('tunnel/src/')
    expect([...readAllImports(root)].filter(([, imported]) => imported.some(isOfTunnel))).toEqual([])
  },
)

it.each(['contract', 'tunnel/sdk', 'scripts', 'doctor', 'bench'])(
  'the files of %s have no import cycle',
  (root) => {
    expect(findCycles(readImports(root))).toEqual([])
  },
)

describe('importsOf', () => {
  it.each([
    ["import { a } from './a.ts'", 'an import'],
    ["import type { A } from './a.ts'", 'a type-only import'],
    ["import {\n  a,\n  type B,\n} from './a.ts'", 'an import over several lines'],
    ["import './a.ts'", 'an import for its effects'],
    ["export * from './a.ts'", 'an export of another module'],
    ["const { a } = await import('./a.ts')", 'a dynamic import'],
    ["let a: import('./a.ts').A", 'an imported type'],
    ["new Worker(new URL('./a.ts', import.meta.url))", 'the entry file of a worker thread'],
  ])('finds the import in %j: %s', (text) => {
    expect(importsOf('folder/b.ts', text)).toEqual(['folder/a.ts'])
  })

  it('leaves out packages', () => {
    expect(importsOf('b.ts', "import { join } from 'node:path'\nimport { Hono } from 'hono'")).toEqual([])
  })
})

describe('findOrderViolations', () => {
  const order: Order = [['top'], ['left', 'right'], ['right/shared'], ['.']]
  const violations = (file: string, imported: string) =>
    findOrderViolations(
      new Map([
        [file, [imported]],
        [imported, []],
      ]),
      order,
    )

  it.each([
    ['top/a.ts', 'left/a.ts'],
    ['left/a.ts', 'left/b.ts'],
    ['left/a.ts', 'right/shared/a.ts'],
    ['right/a.ts', 'right/shared.ts'],
    ['left/a.ts', 'other.ts'],
  ])('allows that %s imports %s', (file, imported) => {
    expect(violations(file, imported)).toEqual([])
  })

  it.each([
    ['left/a.ts', 'top.ts', 'top is above left'],
    ['left/a.ts', 'right/a.ts', 'right is beside left'],
    ['right/shared.ts', 'right/a.ts', 'right is above right/shared'],
    ['other.ts', 'left/a.tsx', 'left is above .'],
  ])('reports %s when it imports %s', (file, imported, why) => {
    const [sentence, ...others] = violations(file, imported)
    expect(others).toEqual([])
    expect(sentence).toContain(`${file} imports ${imported}, but ${why} in the order: move`)
  })

  it('reports a module that belongs to no row', () => {
    expect(findOrderViolations(new Map([['new.ts', []]]), [['top']])).toEqual([
      expect.stringContaining('new.ts belongs to no subject'),
    ])
  })
})

describe('findCycles', () => {
  it('returns the modules of a cycle in order', () => {
    const imports = new Map([
      ['a.ts', ['b.ts']],
      ['b.ts', ['c.ts']],
      ['c.ts', ['b.ts']],
    ])
    expect(findCycles(imports)).toEqual([expect.stringContaining('b.ts → c.ts → b.ts is an import cycle')])
  })

  it('does not report two paths to one module as a cycle', () => {
    const imports = new Map([
      ['a.ts', ['b.ts', 'c.ts']],
      ['b.ts', ['d.ts']],
      ['c.ts', ['d.ts']],
      ['d.ts', []],
    ])
    expect(findCycles(imports)).toEqual([])
  })
})
