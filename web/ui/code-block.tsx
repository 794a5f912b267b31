/** Code with a button that copies it. */
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
export function useCopy(text: string) {
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
