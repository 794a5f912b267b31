/** Code, IDs and addresses with a button that copies them. */
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

function CopyButton({ text, label }: { text: string; label: string }) {
  const { result, copy, reset } = useCopy(text)
  return (
    <>
      <Button weight="quiet" onClick={copy} onBlur={reset}>
        {result === 'failed' ? 'Could not copy: select the text instead' : result ? 'Copied' : label}
      </Button>
      <CopyStatus result={result} />
    </>
  )
}

/** ID or address with a small button that copies it; `name` says what it is. */
export function Copyable({ text, name }: { text: string; name: string }) {
  const { result, copy, reset } = useCopy(text)
  return (
    <span className="inline-flex max-w-full items-start gap-x-1 align-top">
      <span className="min-w-0 wrap-anywhere">{text}</span>
      <button
        type="button"
        aria-label={`Copy the ${name}`}
        title={`Copy the ${name}`}
        onClick={copy}
        onBlur={reset}
        className="-my-0.5 inline-flex size-6 shrink-0 cursor-pointer items-center justify-center rounded-part text-quiet hover:text-accent"
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
          <path d={result === 'copied' ? 'm3 8.5 3.2 3.2L13 4.8' : 'M6 6h7v8H6zM3 10V2h7'} />
        </svg>
      </button>
      <CopyStatus result={result} />
    </span>
  )
}

type CopyResult = 'copied' | 'failed' | undefined

function CopyStatus({ result }: { result: CopyResult }) {
  const text = { copied: 'Copied', failed: 'Could not copy: select the text instead' }
  return (
    <span role="status" className="sr-only">
      {result && text[result]}
    </span>
  )
}

function useCopy(text: string) {
  const [result, setResult] = useState<CopyResult>()
  const copy = () =>
    writeClipboard(text).then(
      () => setResult('copied'),
      () => setResult('failed'),
    )
  return { result, copy, reset: () => setResult(undefined) }
}

/** Falls back to `execCommand` without HTTPS, where browsers have no clipboard API. */
async function writeClipboard(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text)
  const area = document.body.appendChild(document.createElement('textarea'))
  area.value = text
  area.select()
  const copied = document.execCommand('copy')
  area.remove()
  if (!copied) throw new Error('the browser does not let a page copy')
}
