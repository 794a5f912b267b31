/** A titled part of a page of the console. */

import { type ReactNode, useId } from 'react'

type Props = { title: string; note?: ReactNode; children: ReactNode; className?: string }

export function Panel({ title, note, children, className = '' }: Props) {
  const id = useId()
  return (
    <section
      aria-labelledby={id}
      className={`mt-0 min-w-0 rounded-card border border-line bg-surface p-4 wide:p-5 ${className}`}
    >
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

/** What stands where there is nothing yet, with what to do about it. */
export function Empty({ children }: { children: ReactNode }) {
  return <p className="max-w-prose text-note text-quiet">{children}</p>
}
