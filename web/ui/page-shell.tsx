/** Layout of the public pages: header, navigation and footer. */

import type { ReactNode } from 'react'
import { config } from '../lib/config.ts'
import { Mark } from './logo.tsx'

type Place = 'check' | 'lab'

export function Shell({ at, children }: { at?: Place; children: ReactNode }) {
  const { checkPath, lab } = config()
  const places: { place: Place; href: string; name: string }[] = [
    { place: 'check', href: checkPath, name: 'Connection check' },
    ...(lab ? [{ place: 'lab', href: '/lab', name: 'Error lab' } as const] : []),
  ]
  return (
    <div className="mx-auto flex min-h-dvh max-w-5xl flex-col px-5 wide:px-8">
      <header className="flex flex-wrap items-center justify-between gap-x-6 gap-y-2 py-5">
        <a
          href={checkPath}
          className="inline-flex min-h-11 items-center gap-2.5 font-semibold tracking-tight text-ink no-underline"
        >
          <Mark />
          Culvert
        </a>
        <nav aria-label="Pages" className="-mx-3 flex gap-1">
          {places.map(({ place, href, name }) => (
            <a key={place} href={href} aria-current={at === place ? 'page' : undefined} className="link-page">
              {name}
            </a>
          ))}
        </nav>
      </header>
      <main className="flex-1 pt-8 pb-16 wide:pt-14">{children}</main>
      <footer className="border-t border-line py-6 text-note text-quiet">
        Error reports from this site are sent through its own address.
      </footer>
    </div>
  )
}
