/** Keyboard shortcuts of the console, and the dialog that lists them. */
'use client'

import { useEffect, useEffectEvent, useRef, useSyncExternalStore } from 'react'
import { Button } from '../../../ui/button.tsx'
import { PLACES, type Place } from '../routes.ts'
import { areShortcutsOn, storeShortcuts, subscribe } from './shortcut-setting.ts'

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
