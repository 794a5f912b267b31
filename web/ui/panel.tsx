/** Sections of pages, lists of facts, and notes on how much of a list is shown. */

import { type ReactNode, useId } from 'react'
import { formatCount } from '../lib/format.ts'

type Props = {
  title: string
  note?: ReactNode
  /** Anchor for links to the section. */
  id?: string
  children: ReactNode
}

export function Panel({ title, note, id: place, children }: Props) {
  const id = useId()
  return (
    <section {...(place && { id: place })} aria-labelledby={id} className="panel mt-0">
      <div className="mb-3 flex flex-wrap items-baseline justify-between gap-x-4">
        <h2 id={id} className="text-body font-semibold">
          {title}
        </h2>
        {note && <div className="text-note text-quiet">{note}</div>}
      </div>
      {children}
    </section>
  )
}

type FoldProps = Props & { isOpen?: true }

/** Section that is folded until a reader opens it, or while `isOpen`. */
export function Fold({ title, note, id, isOpen, children }: FoldProps) {
  return (
    <details {...(id && { id })} open={isOpen} className="panel mt-0">
      <summary className="min-h-6 font-semibold">
        <h2 className="inline text-body font-semibold">{title}</h2>{' '}
        {note && <span className="ml-2 text-note font-normal text-quiet">{note}</span>}
      </summary>
      <div className="mt-3">{children}</div>
    </details>
  )
}

/** Empty state of a list, with a hint. */
export function Empty({ children }: { children: ReactNode }) {
  return <p className="max-w-prose text-note text-quiet">{children}</p>
}

/** Status and controls of the whole page, beside its title on wide screens. */
export function Tools({ children }: { children: ReactNode }) {
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-2 text-note wide:absolute wide:top-5 wide:right-0">
      {children}
    </div>
  )
}

/** States how much of a list is shown; renders nothing when the list is complete. */
export function Showing({ shown, total, of }: { shown: readonly unknown[]; total: number; of: string }) {
  if (shown.length >= total) return null
  return (
    <p className="mt-2 text-note text-quiet">
      Showing {formatCount(shown.length)} of {formatCount(total)} {of}.
    </p>
  )
}

/** Preformatted text that may scroll. It is a tab stop, so that the keyboard can scroll it. */
export function Preformatted({ className = '', children }: { className?: string; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling area has to be reachable by keyboard
    <pre tabIndex={0} className={`overflow-auto font-mono text-note ${className}`}>
      {children}
    </pre>
  )
}

export function Facts({ children }: { children: ReactNode }) {
  return <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1 text-note">{children}</dl>
}

export function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt className="max-w-48 text-quiet wrap-anywhere">{name}</dt>
      <dd className="min-w-0 wrap-anywhere tabular-nums">{children}</dd>
    </>
  )
}

type PagesProps = {
  label: string
  /** Offset of this page, its size, and the size of the list. */
  from: number
  page: number
  total: number
  /** Address of the page at an offset; `undefined` for the first one. */
  hrefOf: (offset: string | undefined) => string
  /** Name of the listed things, in the plural. */
  of: string
}

export function Pages({ label, from, page, total, hrefOf, of }: PagesProps) {
  if (from === 0 && total <= page) return null
  const previous = Math.max(0, from - page)
  return (
    <nav aria-label={label} className="mt-4 flex flex-wrap items-center gap-x-4 text-note">
      {from < total && (
        <span className="text-quiet tabular-nums">
          {formatCount(from + 1)}–{formatCount(Math.min(from + page, total))} of {formatCount(total)}
        </span>
      )}
      {from > 0 && (
        <a href={hrefOf(previous > 0 ? `${previous}` : undefined)} className="link-block">
          Previous {of}
        </a>
      )}
      {from + page < total && (
        <a href={hrefOf(`${from + page}`)} className="link-block">
          More {of}
        </a>
      )}
    </nav>
  )
}
