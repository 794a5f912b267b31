/** Links to the pages of the console: a row on wide screens, a menu on narrow ones. */
'use client'

import { type KeyboardEvent, useRef, useState } from 'react'
import { PLACES, type Place } from './routes.ts'

export function ConsoleNav({ at }: { at: Place }) {
  const [isOpen, setOpen] = useState(false)
  const button = useRef<HTMLButtonElement>(null)

  function closeOnEscape(event: KeyboardEvent): void {
    if (event.key !== 'Escape' || !isOpen) return
    setOpen(false)
    button.current?.focus()
  }

  return (
    <>
      <button
        ref={button}
        type="button"
        aria-expanded={isOpen}
        aria-controls="console-pages"
        onClick={() => setOpen(!isOpen)}
        onKeyDown={closeOnEscape}
        className="ml-auto inline-flex min-h-11 cursor-pointer items-center gap-2 rounded-part px-3 text-note font-semibold hover:text-accent desk:hidden"
      >
        <svg viewBox="0 0 16 16" aria-hidden="true" className="size-4" stroke="currentColor" strokeWidth="2">
          <path d={isOpen ? 'm3 3 10 10m0-10L3 13' : 'M2 4h12M2 8h12M2 12h12'} strokeLinecap="round" />
        </svg>
        Menu
      </button>
      <nav
        id="console-pages"
        aria-label="Console"
        onKeyDown={closeOnEscape}
        className={`${isOpen ? 'grid' : 'hidden'} order-last w-full grid-cols-2 gap-x-4 desk:order-none desk:flex desk:w-auto desk:flex-1 desk:flex-wrap desk:gap-0`}
      >
        {PLACES.map(({ place, href, name }) => (
          <a
            key={place}
            href={href}
            aria-current={at === place ? 'page' : undefined}
            className="inline-flex min-h-11 shrink-0 items-center rounded-part text-note text-quiet no-underline hover:text-accent aria-[current]:font-semibold aria-[current]:text-ink aria-[current]:underline aria-[current]:decoration-accent aria-[current]:decoration-2 aria-[current]:underline-offset-8 desk:min-h-10 desk:px-3"
          >
            {name}
          </a>
        ))}
      </nav>
    </>
  )
}
