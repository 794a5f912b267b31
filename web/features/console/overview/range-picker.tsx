/** Links to the time ranges of the overview. */
'use client'

import { useRouter } from 'next/navigation'
import type { MouseEvent } from 'react'
import { RANGES, type Range, RECENT } from '../figures/range.ts'
import { CONSOLE } from '../routes.ts'

export function RangePicker({ range }: { range: Range }) {
  const router = useRouter()

  /** Keeps the scroll position. A click for another tab is left to the browser. */
  function pick(event: MouseEvent<HTMLAnchorElement>): void {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return
    event.preventDefault()
    router.push(event.currentTarget.href, { scroll: false })
  }

  return (
    <nav aria-label="Time range" className="flex flex-wrap gap-1 text-note">
      {RANGES.map((each) => (
        <a
          key={each.key}
          href={each.key === RECENT.key ? CONSOLE : `${CONSOLE}?range=${each.key}`}
          onClick={pick}
          aria-current={each.key === range.key ? 'true' : undefined}
          className="inline-flex min-h-9 items-center rounded-part border border-quiet/45 px-3 text-ink no-underline hover:border-accent hover:text-accent aria-[current]:border-accent aria-[current]:bg-accent aria-[current]:text-on-accent"
        >
          {each.label}
        </a>
      ))}
    </nav>
  )
}
