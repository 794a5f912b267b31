/** Documentation in the console: the images of every page, and the HTML of each kind of Markdown. */

import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { parseHTML } from 'linkedom'
import { describe, expect, it } from 'vitest'
import { renderIndex, renderPage } from '../../../../../web/features/console/docs/render.ts'
import { ROOT } from '../../../../support/node.ts'

const FILES = globSync('docs/*.md', { cwd: ROOT })
const pages = new Map(
  FILES.map((file) => {
    const page = renderPage(file, readFileSync(join(ROOT, file), 'utf8'))
    return [`/console/docs/${basename(file, '.md')}`, page]
  }),
)

describe.each([...pages])('The page %s', (_, { images }) => {
  it('shows only images that exist', () => {
    expect(images.filter((image) => !existsSync(join(ROOT, image)))).toEqual([])
  })
})

describe('renderIndex', () => {
  it('links to each page once', () => {
    const { html } = renderIndex(readFileSync(join(ROOT, 'README.md'), 'utf8'))
    const links = [...parse(html).querySelectorAll('a')].map((link) => link.getAttribute('href') ?? '')
    expect(links.toSorted()).toEqual([...pages.keys()].toSorted())
  })
})

describe('renderPage', () => {
  it('takes the title and the sections from the headings', () => {
    const { title, sections, html } = render('# A `page` & more\n\n## First\n\n### Inner\n\n## Second')
    expect(title).toBe('A page & more')
    expect(sections).toEqual([
      { id: 'first', title: 'First' },
      { id: 'second', title: 'Second' },
    ])
    expect(html).not.toContain('more')
  })

  it.each([
    ['A full disk', 'a-full-disk'],
    ['`npm run doctor`', 'npm-run-doctor'],
    ['Set-up: what_next, at 3 am?', 'set-up-what_next-at-3-am'],
    ['Größe', 'größe'],
  ])('gives the heading "%s" the ID that GitHub gives it', (heading, id) => {
    expect(render(`## ${heading}`).html).toContain(`<h2 id="${id}">`)
  })

  it('numbers the IDs of equal headings', () => {
    expect(render('## Use\n\n## Use\n\n## Use').sections.map(({ id }) => id)).toEqual([
      'use',
      'use-1',
      'use-2',
    ])
  })

  it.each([
    ['[a](storage.md)', '<a class="link" href="/console/docs/storage">a</a>'],
    ['[a](storage.md#backup)', '<a class="link" href="/console/docs/storage#backup">a</a>'],
    ['[a](#here)', '<a class="link" href="#here">a</a>'],
    ['[a](https://sentry.example/?a&b)', '<a class="link" href="https://sentry.example/?a&#38;b">a</a>'],
    ['[security](../SECURITY.md)', 'security (<code>SECURITY.md</code>)'],
    ['[`tunnel`](../README.md#add)', '<code>tunnel</code> (<code>README.md</code>)'],
    ['[bench/cost.md](bench/cost.md)', '<code>docs/bench/cost.md</code>'],
    [
      '![A & B](images/a.webp)',
      '<img src="/console/docs/images/a.webp" alt="A &#38; B" fetchpriority="high">',
    ],
  ])('renders %s as %s', (markdown, html) => {
    expect(render(markdown).html).toBe(`<p>${html}</p>\n`)
  })

  it('lets all images after the first one load late', () => {
    const { html } = render('![A](a.webp) ![B](b.webp) ![C](c.webp)')
    expect(html.match(/ (?:fetchpriority|loading)="\w+"/g)).toEqual([
      ' fetchpriority="high"',
      ' loading="lazy"',
      ' loading="lazy"',
    ])
  })

  it('never links to a script', () => {
    expect(render('[a](javascript:alert`1`)').html).not.toContain('href')
  })

  it('escapes HTML, and leaves out comments', () => {
    const { html } = render('<!-- tested -->\n<script>a</script>\n\n<!-- more --> b <img src=x onerror=y>')
    expect(html).not.toMatch(/<script|<img|<!--|tested|more/)
    expect(html).toContain('&#60;script&#62;')
  })

  it('renders an empty header cell of a table as a plain cell', () => {
    const document = parse(render('| | a |\n|--:|---|\n| b | c |').html)
    expect([...document.querySelectorAll('th')].map((cell) => cell.textContent)).toEqual(['a'])
    expect(document.querySelectorAll('tr:first-child > *')).toHaveLength(4)
  })

  it('puts tables and code into elements that scroll by keyboard', () => {
    const document = parse(render('## Units\n\n| a |\n|---|\n| b |\n\n```sh\na < b\n```').html)
    const table = document.querySelector('table')?.parentElement
    expect(table?.getAttribute('tabindex')).toBe('0')
    expect(table?.getAttribute('aria-label')).toBe('Table: Units')
    expect(document.querySelector('pre')?.getAttribute('tabindex')).toBe('0')
    expect(document.querySelector('pre')?.textContent).toBe('a < b\n')
  })
})

function render(markdown: string) {
  return renderPage('docs/page.md', markdown)
}

function parse(html: string): Document {
  return parseHTML(`<html><body>${html}</body></html>`).document
}
