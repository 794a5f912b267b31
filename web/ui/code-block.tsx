/** Code and other texts with buttons that copy them. */
'use client'

import { useState } from 'react'
import { Button } from './button.tsx'

type Props = { text: string; label: string; copy?: string }

export function CodeBlock({ text, label, copy = 'Copy' }: Props) {
  return (
    <figure aria-label={label} className="grid justify-items-start gap-3">
      <pre className="w-full rounded-part bg-sunken p-4 font-mono text-note whitespace-pre-wrap">{text}</pre>
      <CopyButton text={text} label={copy} />
    </figure>
  )
}

/** Button that copies a text. */
export function CopyButton({ text, label }: { text: string; label: string }) {
  const { result, ...handlers } = useCopy(text)
  return (
    <>
      <Button weight="quiet" {...handlers}>
        {result ?? label}
      </Button>
      <span role="status" className="sr-only">
        {result}
      </span>
    </>
  )
}

/** Returns the handlers of a button that copies a text, and the result in words until the button loses the focus. */
function useCopy(text: string) {
  const [result, setResult] = useState<string>()
  const onClick = () =>
    writeClipboard(text).then(
      () => setResult('Copied'),
      () => setResult('Could not copy: select the text instead'),
    )
  return { result, onClick, onBlur: () => setResult(undefined) }
}

/** Falls back to `execCommand` without HTTPS, where browsers have no clipboard API. */
async function writeClipboard(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text)
  const focused = document.activeElement
  const area = document.body.appendChild(document.createElement('textarea'))
  area.value = text
  area.select()
  const copied = document.execCommand('copy')
  area.remove()
  if (focused instanceof HTMLElement) focused.focus({ preventScroll: true })
  if (!copied) throw new Error('the browser does not let a page copy')
}

/** `name` is the name of the copied text in the label of the button. */
type CopyProps = { text: string; name: string }

export function Copyable({ text, name }: CopyProps) {
  return (
    <span className="inline-flex max-w-full items-start gap-x-1 align-top">
      <span className="min-w-0 wrap-anywhere">{text}</span>
      <CopyIcon text={text} name={name} />
    </span>
  )
}

/** Small button for the text before it. */
export function CopyIcon({ text, name }: CopyProps) {
  const { result, ...handlers } = useCopy(text)
  return (
    <>
      <button
        type="button"
        aria-label={`Copy the ${name}`}
        title={`Copy the ${name}`}
        {...handlers}
        className="-my-0.5 inline-flex size-6 shrink-0 align-middle cursor-pointer items-center justify-center rounded-part text-quiet hover:text-accent"
      >
        <svg
          viewBox="0 0 16 16"
          aria-hidden="true"
          className="size-4"
          fill="none"
          stroke="currentColor"
          strokeWidth="1.5"
          strokeLinejoin="round"
        >
          <path d={result === 'Copied' ? 'm3 8.5 3.2 3.2L13 4.8' : 'M6 6h7v8H6zM3 10V2h7'} />
        </svg>
      </button>
      <span role="status" className="sr-only">
        {result}
      </span>
    </>
  )
}
