/** Lines to copy, with a button that does. */

import { CopyButton } from './copy-button.tsx'

type Props = { text: string; label: string; copy?: string }

export function CodeBlock({ text, label, copy = 'Copy' }: Props) {
  return (
    <figure aria-label={label} className="grid justify-items-start gap-3">
      <pre className="w-full rounded-part bg-sunken p-4 font-mono text-note whitespace-pre-wrap">{text}</pre>
      <CopyButton text={text}>{copy}</CopyButton>
    </figure>
  )
}
