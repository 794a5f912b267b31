/** The way from one page of a long list to those before and after it. */

import { formatCount } from '../lib/format.ts'

type Props = {
  label: string
  /** How many stand before this page, how many it holds, and how many there are. */
  from: number
  page: number
  all: number
  /** Where the page is before which so many stand; none for the first. */
  hrefOf: (from: string | undefined) => string
  before: string
  further: string
}

export function Pages({ label, from, page, all, hrefOf, before, further }: Props) {
  if (from === 0 && all <= page) return null
  const earlier = Math.max(0, from - page)
  return (
    <nav aria-label={label} className="mt-4 flex flex-wrap items-center gap-x-4 text-note">
      {from < all && (
        <span className="text-quiet tabular-nums">
          {formatCount(from + 1)}–{formatCount(Math.min(from + page, all))} of {formatCount(all)}
        </span>
      )}
      {from > 0 && (
        <a
          href={hrefOf(earlier > 0 ? `${earlier}` : undefined)}
          className="link inline-flex min-h-11 items-center"
        >
          {before}
        </a>
      )}
      {from + page < all && (
        <a href={hrefOf(`${from + page}`)} className="link inline-flex min-h-11 items-center">
          {further}
        </a>
      )}
    </nav>
  )
}
