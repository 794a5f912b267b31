/** Renders Markdown files of the repository as HTML for the console. The build uses it, the server does not. */

import { posix } from 'node:path'
import { marked, Renderer, type Tokens } from 'marked'
import { DOCS } from '../routes.ts'

export type Section = { id: string; title: string }

export type DocsPage = {
  title: string
  html: string
  /** Headings of the second level. */
  sections: Section[]
  /** Paths of the images, from the root of the repository. */
  images: string[]
}

/** Renders the text of a file of the repository. */
export function renderPage(file: string, markdown: string): DocsPage {
  const renderer = new PageRenderer(posix.dirname(file))
  const html = marked.parse(markdown, { renderer, async: false })
  const { title, sections, images } = renderer
  return { title, html, sections, images }
}

/** Renders the section of the README that lists the pages. */
export function renderIndex(readme: string): DocsPage {
  const [, list] = /^## Documentation\n([\s\S]+?)^## /m.exec(readme) ?? []
  if (list === undefined) throw new Error('README.md has no section "Documentation"')
  return renderPage('README.md', `# Documentation\n${list}`)
}

class PageRenderer extends Renderer {
  title = ''
  readonly sections: Section[] = []
  readonly images: string[] = []
  readonly #folder: string
  readonly #ids = new Map<string, number>()
  #heading = ''

  constructor(folder: string) {
    super()
    this.#folder = folder
  }

  /** Leaves out the title, which the layout of the page shows. */
  override heading({ tokens, depth }: Tokens.Heading): string {
    const text = this.parser.parseInline(tokens, this.parser.textRenderer)
    this.#heading = text
    const id = this.#idFor(text)
    if (depth === 1) this.title = text
    if (depth === 2) this.sections.push({ id, title: text })
    return depth === 1
      ? ''
      : `<h${depth} id="${escapeHtml(id)}">${this.parser.parseInline(tokens)}</h${depth}>\n`
  }

  override link({ href, tokens }: Tokens.Link): string {
    const content = this.parser.parseInline(tokens)
    if (/^https?:/.test(href)) return anchor(href, content)
    const [path = '', fragment] = href.split('#')
    const suffix = fragment === undefined ? '' : `#${fragment}`
    if (path === '') return anchor(suffix, content)
    const target = posix.join(this.#folder, path)
    const [, page] = /^docs\/([\w-]+)\.md$/.exec(target) ?? []
    if (page) return anchor(`${DOCS}/${page}${suffix}`, content)
    const code = `<code>${escapeHtml(target)}</code>`
    return target.endsWith(content) ? code : `${content} (${code})`
  }

  override image({ href, text }: Tokens.Image): string {
    const path = posix.join(this.#folder, href)
    const priority = this.images.push(path) === 1 ? 'fetchpriority="high"' : 'loading="lazy"'
    return `<img src="${escapeHtml(`${DOCS}/images/${posix.basename(path)}`)}" alt="${escapeHtml(text)}" ${priority}>`
  }

  override table(token: Tokens.Table): string {
    const label = escapeHtml(this.#heading)
    const table = super.table(token).replaceAll(/<th[^>]*><\/th>/g, '<td></td>') // a header cell without text names nothing
    return `<div class="document-table" role="group" tabindex="0" aria-label="Table: ${label}">${table}</div>\n`
  }

  override code(token: Tokens.Code): string {
    return super.code(token).replace('<pre>', '<pre tabindex="0">')
  }

  override html({ text }: Tokens.HTML | Tokens.Tag): string {
    return escapeHtml(text.replace(/<!--[\s\S]*?-->/g, '').trimEnd())
  }

  /** Returns the ID that GitHub gives a heading. */
  #idFor(heading: string): string {
    const id = heading
      .toLowerCase()
      .replace(/[^\p{L}\p{M}\p{N}\p{Pc} -]/gu, '')
      .replaceAll(' ', '-')
    const earlier = this.#ids.get(id) ?? 0
    this.#ids.set(id, earlier + 1)
    return earlier === 0 ? id : `${id}-${earlier}`
  }
}

function anchor(href: string, content: string): string {
  return `<a class="link" href="${escapeHtml(href)}">${content}</a>`
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
