/** Hydration of a page: before it, its buttons do nothing. */
'use client'

import { useSyncExternalStore } from 'react'

const subscribe = () => () => {}

/** Returns `true` when the scripts of the page run. */
export function useHydrated(): boolean {
  return useSyncExternalStore(
    subscribe,
    () => true,
    () => false,
  )
}
