/** Controls around every page of the console: links to the pages, the sign-out, keyboard shortcuts, and the colour theme. */
'use client'

import {
  type KeyboardEvent as ReactKeyboardEvent,
  useEffect,
  useEffectEvent,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react'
import { readTheme, THEMES, type Theme, themeCookie } from '../../../lib/theme.ts'
import { Button } from '../../../ui/button.tsx'
import { PLACE_GROUPS, PLACES, type Place } from '../routes.ts'
import type { PageBadge } from './badges.ts'

/** Second key of each page, after g. */
const KEYS: Record<Place, string> = {
  overview: 'o',
  feed: 'f',
  find: 'n',
  rejections: 'r',
  policies: 'l',
  projects: 'p',
  spool: 's',
  inbox: 'i',
  replicas: 'e',
  setup: 'u',
  docs: 'd',
}

const SEQUENCE_MS = 1_500 // between g and the second key

export function Shortcuts() {
  const dialog = useRef<HTMLDialogElement>(null)
  const goneAt = useRef(Number.NEGATIVE_INFINITY)

  const onKey = useEffectEvent((event: KeyboardEvent) => {
    if (!areShortcutsOn() || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
    if (dialog.current?.open) return
    const isSecond = event.timeStamp - goneAt.current < SEQUENCE_MS
    goneAt.current = event.key === 'g' ? event.timeStamp : Number.NEGATIVE_INFINITY
    const place = isSecond ? PLACES.find((each) => KEYS[each.place] === event.key) : undefined
    if (place) location.assign(place.href)
    else if (event.key === '?') dialog.current?.showModal()
    else if (event.key === '/' && focusFilter()) event.preventDefault()
    else if (event.key === 'j') moveBy(1)
    else if (event.key === 'k') moveBy(-1)
  })

  useEffect(() => {
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [])

  return (
    <>
      <button
        type="button"
        onClick={() => dialog.current?.showModal()}
        className="min-h-6 cursor-pointer rounded-part text-quiet underline-offset-4 hover:text-accent hover:underline"
      >
        Keyboard shortcuts
      </button>
      <dialog
        ref={dialog}
        aria-labelledby="shortcuts"
        className="m-auto w-[min(28rem,calc(100%-2rem))] rounded-card border border-line bg-surface p-5 text-ink backdrop:bg-black/50"
      >
        <h2 id="shortcuts" className="mb-3 text-body font-semibold">
          Keyboard shortcuts
        </h2>
        <dl className="grid grid-cols-[auto_1fr] gap-x-6 gap-y-2 text-note">
          {PLACES.map(({ place, name }) => (
            <Shortcut key={place} keys={['g', KEYS[place]]} text={name} />
          ))}
          <Shortcut keys={['j', 'k']} text="Next and previous entry of the inbox" />
          <Shortcut keys={['/']} text="Filter the list" />
          <Shortcut keys={['?']} text="Show this list" />
          <Shortcut keys={['Esc']} text="Close the list or the details" />
        </dl>
        <ShortcutSwitch />
        <form method="dialog" className="mt-5">
          <Button type="submit" weight="quiet">
            Close
          </Button>
        </form>
      </dialog>
    </>
  )
}

/** Turns the shortcuts off and on: those of one key get in the way of speech input. */
function ShortcutSwitch() {
  const isOn = useSyncExternalStore(subscribe, areShortcutsOn, () => true)
  return (
    <label className="mt-5 flex min-h-8 cursor-pointer items-center gap-2 text-note">
      <input
        type="checkbox"
        checked={isOn}
        onChange={({ target }) => storeShortcuts(target.checked ? 'on' : 'off')}
        className="size-4 accent-accent"
      />
      Use these shortcuts in this browser
    </label>
  )
}

function Shortcut({ keys, text }: { keys: string[]; text: string }) {
  return (
    <>
      <dt className="flex gap-1">
        {keys.map((key) => (
          <kbd key={key} className="rounded border border-line bg-sunken px-1.5 font-mono">
            {key}
          </kbd>
        ))}
      </dt>
      <dd>{text}</dd>
    </>
  )
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('input, select, textarea, [contenteditable]') !== null
}

/** Moves the focus to the filter of the page. Returns `false` without one. */
function focusFilter(): boolean {
  const filter = document.querySelector<HTMLElement>('main input[type="search"]')
  filter?.focus()
  return filter !== null
}

/** Moves the focus along the rows of a list, or opens the next or previous entry. */
function moveBy(step: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>('main [data-rows] > li')]
  if (rows.length === 0) {
    document.querySelector<HTMLElement>(`main a[rel="${step > 0 ? 'next' : 'prev'}"]`)?.click()
    return
  }
  const focused = rows.findIndex((row) => row.contains(document.activeElement))
  const at = focused < 0 ? rows.findIndex((row) => row.matches(':target')) : focused
  rows[at < 0 ? 0 : at + step]?.querySelector('a')?.focus()
}

const STORED = 'culvert-shortcuts'
const EVENT = 'culvert-shortcuts'

/** Setting of a page whose browser has no storage. */
let unstored: 'on' | 'off' | undefined

function areShortcutsOn(): boolean {
  return (unstored ?? readStored()) !== 'off'
}

function storeShortcuts(setting: 'on' | 'off'): void {
  try {
    localStorage.setItem(STORED, setting)
    unstored = undefined
  } catch {
    unstored = setting
  }
  document.dispatchEvent(new Event(EVENT))
}

/** Calls `onChange` after each change on this page and on others. Returns a function that ends this. */
function subscribe(onChange: () => void): () => void {
  document.addEventListener(EVENT, onChange)
  addEventListener('storage', onChange)
  return () => {
    document.removeEventListener(EVENT, onChange)
    removeEventListener('storage', onChange)
  }
}

function readStored(): string | null {
  try {
    return localStorage.getItem(STORED)
  } catch {
    return null // storage is blocked
  }
}

export function ConsoleNav({ at }: { at: Place }) {
  const [isOpen, setOpen] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  const badges = useBadges()

  function closeOnEscape(event: ReactKeyboardEvent): void {
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
        className={`${isOpen ? 'grid' : 'hidden'} order-last w-full gap-y-1 desk:order-none desk:flex desk:w-auto desk:flex-1 desk:flex-wrap desk:gap-0 desk:divide-x desk:divide-line`}
      >
        {PLACE_GROUPS.map((group) => (
          // biome-ignore lint/a11y/useSemanticElements: a fieldset is for controls of a form
          <div
            key={group.name}
            role="group"
            aria-label={group.name}
            className="grid grid-cols-3 gap-x-4 border-t border-line desk:flex desk:flex-wrap desk:gap-0 desk:border-t-0 desk:px-2"
          >
            {group.places.map(({ place, href, name }) => (
              <a
                key={place}
                href={href}
                aria-current={at === place ? 'page' : undefined}
                className="relative inline-flex min-h-11 shrink-0 items-center rounded-part text-note text-quiet no-underline hover:text-accent aria-[current]:font-semibold aria-[current]:text-ink aria-[current]:underline aria-[current]:decoration-accent aria-[current]:decoration-2 aria-[current]:underline-offset-8 desk:min-h-10 desk:px-2"
              >
                {name}
                <NavBadge badge={badges.find((each) => each.place === place)} />
              </a>
            ))}
          </div>
        ))}
      </nav>
    </>
  )
}

/** Number beside a link. It takes no room on a wide screen, so that links keep their places. */
function NavBadge({ badge }: { badge: PageBadge | undefined }) {
  if (!badge) return null
  const { place, count, words } = badge
  return (
    <>
      <span
        aria-hidden="true"
        className={`ml-1.5 rounded-full px-1.5 text-[0.6875rem] leading-4 font-semibold text-surface tabular-nums desk:absolute desk:-top-1 desk:right-0 desk:translate-x-1/3 ${place === 'spool' ? 'bg-wait' : 'bg-bad'}`}
      >
        {count > 99 ? '99+' : count}
      </span>
      <span className="sr-only"> {words}</span>
    </>
  )
}

const BADGES_MS = 10_000

/** Returns the badges; none while web does not respond. A hidden tab asks for none. */
function useBadges(): PageBadge[] {
  const [badges, setBadges] = useState<PageBadge[]>([])
  useEffect(() => {
    let newest = 0
    async function read(): Promise<void> {
      if (document.visibilityState === 'hidden') return
      const request = ++newest
      const read = await fetch('/console/badges', { cache: 'no-store' })
        .then((response): Promise<PageBadge[]> | [] => (response.ok ? response.json() : []))
        .catch(() => []) // old numbers would look current
      if (request === newest) setBadges(read)
    }
    void read()
    const timer = setInterval(read, BADGES_MS)
    document.addEventListener('visibilitychange', read)
    return () => {
      clearInterval(timer)
      document.removeEventListener('visibilitychange', read)
    }
  }, [])
  return badges
}

const SIGNED_OUT = 'culvert-signed-out'

/** Signs out. The other tabs of the browser load their pages again then, which leads them to the sign-in. */
export function SignOut() {
  useEffect(() => {
    const channel = new BroadcastChannel(SIGNED_OUT)
    channel.onmessage = () => location.reload()
    return () => channel.close()
  }, [])

  /** The page hides when the next one begins, so the session has ended by then. */
  function tellOthers(): void {
    addEventListener('pagehide', () => new BroadcastChannel(SIGNED_OUT).postMessage(null), { once: true })
  }

  return (
    <form method="post" action="/console/sign-out" onSubmit={tellOthers}>
      <button
        type="submit"
        className="min-h-11 cursor-pointer rounded-part px-3 text-note text-quiet hover:text-accent"
      >
        Sign out
      </button>
    </form>
  )
}

const LABELS: Record<Theme, string> = { system: 'Theme: system', light: 'Theme: light', dark: 'Theme: dark' }

export function ThemeToggle() {
  const [theme, setTheme] = useState<Theme>('system')
  useEffect(() => {
    const chosen = readTheme(document.cookie)
    document.documentElement.dataset.theme = chosen // the page may come from a cache, or without cookies
    setTheme(chosen)
  }, [])

  function change(): void {
    const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'system'
    // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API needs HTTPS
    document.cookie = themeCookie(next)
    document.documentElement.dataset.theme = next
    setTheme(next)
  }

  return (
    <button
      type="button"
      onClick={change}
      className="min-h-6 cursor-pointer rounded-part text-quiet underline-offset-4 hover:text-accent hover:underline"
    >
      {LABELS[theme]}
    </button>
  )
}
