/** Setting of the keyboard shortcuts, kept in the browser. */
'use client'

const KEY = 'culvert-shortcuts'
const EVENT = 'culvert-shortcuts'

/** Setting of a page whose browser has no storage. */
let unstored: 'on' | 'off' | undefined

export function areShortcutsOn(): boolean {
  return (unstored ?? readStored()) !== 'off'
}

export function storeShortcuts(setting: 'on' | 'off'): void {
  try {
    localStorage.setItem(KEY, setting)
    unstored = undefined
  } catch {
    unstored = setting
  }
  document.dispatchEvent(new Event(EVENT))
}

/** Calls `onChange` after each change on this page and on others. Returns a function that ends this. */
export function subscribe(onChange: () => void): () => void {
  document.addEventListener(EVENT, onChange)
  addEventListener('storage', onChange)
  return () => {
    document.removeEventListener(EVENT, onChange)
    removeEventListener('storage', onChange)
  }
}

function readStored(): string | null {
  try {
    return localStorage.getItem(KEY)
  } catch {
    return null // storage is blocked
  }
}
