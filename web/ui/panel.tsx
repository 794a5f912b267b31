/** Titled section of a console page. */

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
        {note && <p className="text-note text-quiet">{note}</p>}
      </div>
      {children}
    </section>
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
