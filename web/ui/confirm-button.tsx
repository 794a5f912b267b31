/** Button that submits a form after a confirmation. */
'use client'

import { useState } from 'react'
import { Button } from './button.tsx'

type Props = {
  action: string
  fields?: Record<string, string>
  label: string
  question: string
  /** The action cannot be undone. */
  isFinal?: boolean
  weight?: 'quiet' | 'light' | 'faint'
}

export function ConfirmButton({ action, fields = {}, label, question, isFinal, weight = 'quiet' }: Props) {
  const [isAsked, setAsked] = useState(false)
  if (!isAsked)
    return (
      <Button weight={weight} onClick={() => setAsked(true)}>
        {label}
      </Button>
    )
  return (
    <form
      method="post"
      action={action}
      data-confirmation
      className={`flex flex-wrap items-center gap-2 text-note ${weight === 'light' ? 'px-4' : ''}`}
    >
      {Object.entries(fields).map(([name, value]) => (
        <input key={name} type="hidden" name={name} value={value} />
      ))}
      <span role="status">{question}</span>
      <Button type="submit" weight={isFinal ? 'final' : 'primary'}>
        {`Yes, ${label.toLowerCase()}`}
      </Button>
      <Button weight="quiet" onClick={() => setAsked(false)}>
        No
      </Button>
    </form>
  )
}
