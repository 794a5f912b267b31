/** Links to the pages before and after this one in a long list. */

import { formatCount } from '../lib/format.ts'

type Props = {
  label: string
  /** Offset of this page, its size, and the size of the list. */
  from: number
  page: number
  total: number
  /** Address of the page at an offset; `undefined` for the first one. */
  hrefOf: (offset: string | undefined) => string
  /** Plural of what is listed. */
  of: string
}

export function Pages({ label, from, page, total, hrefOf, of }: Props) {
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
