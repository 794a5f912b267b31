/** Pages of the documentation: links, names of files and commands, and the test of each example. */

import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ROOT } from '../../support/node.ts'

const read = (file: string) => readFileSync(join(ROOT, file), 'utf8')

const DOCS = readdirSync(join(ROOT, 'docs')).flatMap((name) => (name.endsWith('.md') ? `docs/${name}` : []))
const ALL = ['README.md', 'SECURITY.md', 'CONTRIBUTING.md', 'CHANGELOG.md', ...DOCS]

/** Languages of blocks that a reader copies. Diagrams and output are in blocks of other languages. */
const COPIED = ['sh', 'js', 'ts', 'tsx', 'yaml', 'nginx']

describe.each(ALL)('%s', (page) => {
  const text = read(page)

  it('has no dead link', () => {
    const links = [...withoutBlocks(text).matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].map(
      ([, link = '']) => link,
    )
    expect(links.filter((link) => !leadsSomewhere(page, link))).toEqual([])
  })

  it('names only files that exist', () => {
    const files = quotedIn(text).filter((name) =>
      /^(tests|deploy|docs|scripts|bench)\/[\w./{},-]+$/.test(name),
    )
    expect(files.flatMap(expandBraces).filter((file) => globSync(file, { cwd: ROOT }).length === 0)).toEqual(
      [],
    )
  })

  it('names only npm commands that exist', () => {
    const { scripts } = JSON.parse(read('package.json'))
    const commands = [...text.matchAll(/\bnpm run (?:--\w+ )?([\w:-]+)/g)].map(([, name = '']) => name)
    expect(commands.filter((name) => !(name in scripts))).toEqual([])
  })

  it('names a test for each example, or the reason why it has none', () => {
    const unmarked = examplesOf(text).filter(({ mark }) => !/^(tested by|not tested:) \S/.test(mark))
    expect(unmarked).toEqual([])
  })

  it('names only tests that exist for its examples', () => {
    const tests = examplesOf(text).flatMap(({ mark }) => testsOf(mark))
    expect(tests.filter((file) => !existsSync(join(ROOT, file)))).toEqual([])
  })
})

function examplesOf(text: string): { language: string; mark: string }[] {
  const blocks = [...text.matchAll(/(?:<!-- (.+) -->\n)?^```(\w*)\n[\s\S]*?^```$/gm)]
  return blocks
    .map(([, mark = '', language = '']) => ({ language, mark }))
    .filter(({ language }) => COPIED.includes(language))
}

/** Returns the tests that a mark names. A mark that begins with "tested by" names at least one. */
function testsOf(mark: string): string[] {
  const named = mark.match(/tests\/[\w./-]+\.test\.ts/g) ?? []
  return mark.startsWith('tested by') && named.length === 0 ? ['none'] : named
}

function leadsSomewhere(page: string, link: string): boolean {
  const [path = '', anchor] = link.split('#')
  const target = path === '' ? page : normalize(join(dirname(page), path))
  if (!existsSync(join(ROOT, target))) return false
  return anchor === undefined || anchorsOf(read(target)).includes(anchor)
}

/** Returns the anchors that GitHub derives from headings. */
function anchorsOf(text: string): string[] {
  return [...withoutBlocks(text).matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

function withoutBlocks(text: string): string {
  return text.replace(/^```[\s\S]*?^```$/gm, '')
}

function quotedIn(text: string): string[] {
  return [...withoutBlocks(text).matchAll(/`([^`\n]+)`/g)].map(([, quoted = '']) => quoted)
}

/** Returns the names of `a/{b,c}.ts`. */
function expandBraces(name: string): string[] {
  const [whole, names = ''] = /\{(.+?)\}/.exec(name) ?? []
  return whole === undefined ? [name] : names.split(',').map((each) => name.replace(whole, each))
}
