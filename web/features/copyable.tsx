/** ID or address with a small button that copies it. */
'use client'

import { useCopy } from '../ui/code-block.tsx'

/** `name` says in the label of the button what it copies. */
type Props = { text: string; name: string }

export function Copyable({ text, name }: Props) {
  return (
    <span className="inline-flex max-w-full items-start gap-x-1 align-top">
      <span className="min-w-0 wrap-anywhere">{text}</span>
      <CopyIcon text={text} name={name} />
    </span>
  )
}

/** Small button for a text that stands before it. */
export function CopyIcon({ text, name }: Props) {
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
