/** State that only the browser has: the time zone of the reader, and whether scripts run. */
'use client'

import { useSyncExternalStore } from 'react'

const EVERY_MS = 1_000

const listeners = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | undefined
let now = 0

/** Returns milliseconds since 1970, updated every second; `undefined` on the server, which has another time zone. */
export function useNow(): number | undefined {
  return useSyncExternalStore<number | undefined>(subscribe, read, () => undefined)
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  timer ??= setInterval(tick, EVERY_MS)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

function read(): number {
  if (now === 0) now = Date.now()
  return now
}

function tick(): void {
  now = Date.now()
  for (const listener of listeners) listener()
}

const neverChanges = () => () => {}

/** Returns `true` when the scripts of the page run. */
export function useHydrated(): boolean {
  return useSyncExternalStore(
    neverChanges,
    () => true,
    () => false,
  )
}
