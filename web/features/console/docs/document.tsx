/** Page of the documentation, with links to its sections. */

import type { DocsPage, Section } from './render.ts'
import './document.css'

export function Document({ page: { html, sections } }: { page: DocsPage }) {
  return (
    <div className="grid grid-cols-1 gap-x-10 desk:grid-cols-[minmax(0,1fr)_15rem] desk:items-start">
      {sections.length > 2 && (
        <>
          <details className="mb-4 desk:hidden">
            <summary className="min-h-11 font-semibold">On this page</summary>
            <Sections sections={sections} />
          </details>
          <nav
            aria-label="On this page"
            className="sticky top-6 order-last hidden max-h-[calc(100dvh-3rem)] overflow-y-auto desk:block"
          >
            <p className="eyebrow">On this page</p>
            <Sections sections={sections} />
          </nav>
        </>
      )}
      {/* biome-ignore lint/security/noDangerouslySetInnerHtml: the build rendered it from files of the repository */}
      <div className="document" dangerouslySetInnerHTML={{ __html: html }} />
    </div>
  )
}

function Sections({ sections }: { sections: Section[] }) {
  return (
    <ul>
      {sections.map(({ id, title }) => (
        <li key={id}>
          <a
            href={`#${id}`}
            className="inline-flex min-h-11 items-center text-note text-quiet no-underline wrap-anywhere hover:text-accent desk:min-h-8"
          >
            {title}
          </a>
        </li>
      ))}
    </ul>
  )
}
