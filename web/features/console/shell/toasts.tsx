/** Messages about finished actions, at the edge of the page. */
'use client'

import { useEffect, useState } from 'react'

const SHOWN_MS = 10_000
const EVENT = 'culvert-toast'

/** Shows a message on the page. */
function showToast(text: string): void {
  document.dispatchEvent(new CustomEvent(EVENT, { detail: text }))
}

const BOX =
  'fixed inset-x-4 bottom-4 z-20 mx-auto flex max-w-xl items-center justify-between gap-4 rounded-card border border-line bg-surface px-4 py-3 text-note shadow-lg'

/** Live region of the page: a screen reader announces text that is added later. */
export function Toasts() {
  const [text, setText] = useState('')
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    function show(event: Event): void {
      clearTimeout(timer)
      setText(event instanceof CustomEvent ? String(event.detail) : '')
      timer = setTimeout(() => setText(''), SHOWN_MS)
    }
    document.addEventListener(EVENT, show)
    return () => {
      clearTimeout(timer)
      document.removeEventListener(EVENT, show)
    }
  }, [])
  return (
    <div className={text ? BOX : 'sr-only'}>
      <span role="status" aria-label="Result of the last action" className="min-w-0 wrap-anywhere">
        {text}
      </span>
      {text && (
        <button type="button" onClick={() => setText('')} className="link min-h-8 shrink-0 cursor-pointer">
          Close
        </button>
      )}
    </div>
  )
}

type ResultProps = {
  text: string
  /** Parameters of the address that led to the message, which a reload must not repeat. */
  parameters: readonly string[]
}

/** Shows the result of the action that led to this page, once. */
export function ActionToast({ text, parameters }: ResultProps) {
  const names = parameters.join()
  useEffect(() => {
    showToast(text)
    const url = new URL(location.href)
    for (const name of names.split(',')) url.searchParams.delete(name)
    history.replaceState(null, '', url)
  }, [text, names])
  return (
    <noscript>
      <p className="mb-4 text-note font-semibold wrap-anywhere">{text}</p>
    </noscript>
  )
}
