/** Puts a text on the clipboard, and says so. */
'use client'

import { useState } from 'react'
import { Button } from './button.tsx'

type Props = { text: string; children: string; disabled?: boolean }

export function CopyButton({ text, children, disabled = false }: Props) {
  const [told, tell] = useState<string>()
  const copy = () =>
    write(text).then(
      () => tell('Copied'),
      () => tell('Could not copy: select the text instead'),
    )
  return (
    <>
      <Button weight="quiet" disabled={disabled} onClick={copy} onBlur={() => tell(undefined)}>
        {told ?? children}
      </Button>
      <span role="status" className="sr-only">
        {told}
      </span>
    </>
  )
}

/** The clipboard is there in a secure context alone; elsewhere the old command does it. */
async function write(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text)
  const area = document.body.appendChild(document.createElement('textarea'))
  area.value = text
  area.select()
  const copied = document.execCommand('copy')
  area.remove()
  if (!copied) throw new Error('the browser does not let a page copy')
}
