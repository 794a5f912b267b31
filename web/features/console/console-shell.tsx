/** Layout of the console pages. */

import type { ReactNode } from 'react'
import { Mark } from '../../ui/logo.tsx'
import { TimeZone } from '../../ui/relative-time.tsx'
import type { Place } from './routes.ts'
import { ConsoleNav, Shortcuts, SignOut, ThemeToggle } from './shell/shell-controls.tsx'
import { Toasts } from './shell/toasts.tsx'

export function ConsoleShell({ at, title, children }: { at: Place; title: ReactNode; children: ReactNode }) {
  return (
    <div className="mx-auto flex min-h-dvh max-w-[90rem] flex-col px-4 wide:px-6">
      <a
        href="#content"
        className="sr-only focus:not-sr-only focus:absolute focus:z-10 focus:rounded-part focus:bg-surface focus:p-3"
      >
        Skip to content
      </a>
      <header className="flex flex-wrap items-center justify-between gap-x-2 gap-y-1 border-b desk:gap-x-6 border-line py-3">
        <a
          href="/console"
          className="inline-flex min-h-11 items-center gap-2.5 font-semibold tracking-tight text-ink no-underline"
        >
          <Mark />
          Culvert <span className="hidden font-normal text-quiet wide:inline">console</span>
        </a>
        <ConsoleNav at={at} />
        <SignOut />
      </header>
      <Toasts />
      <main id="content" className="relative m-0 w-full max-w-none min-w-0 flex-1 px-0 pt-6 pb-16">
        <h1 className="mb-5 text-title font-semibold wrap-anywhere">{title}</h1>
        {children}
      </main>
      <footer className="flex flex-wrap items-baseline justify-end gap-x-6 border-t border-line py-3 text-note">
        <TimeZone />
        <Shortcuts />
        <ThemeToggle />
      </footer>
    </div>
  )
}
