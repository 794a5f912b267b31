/** Button for an action on spool entries, with a confirmation. */
'use client'

import { useState } from 'react'
import { Button } from '../../../ui/button.tsx'

type Act = 'retry' | 'pause' | 'resume' | 'purge'

type Props = {
  spool: string
  act: Act
  what: Partial<Record<'id' | 'project' | 'category' | 'all', string>>
  label: string
  /** Default: `quiet`. */
  weight?: 'quiet' | 'light'
}

const QUESTIONS: Record<Act, string> = {
  retry: 'Retry now?',
  pause: 'Pause delivery?',
  resume: 'Resume delivery?',
  purge: 'Purge permanently? Sentry will never receive it.',
}

export function SpoolAction({ spool, act, what, label, weight = 'quiet' }: Props) {
  const [isAsked, ask] = useState(false)
  if (!isAsked)
    return (
      <Button weight={weight} onClick={() => ask(true)}>
        {label}
      </Button>
    )
  return (
    <form method="post" action="/console/spool/act" className="flex flex-wrap items-center gap-2">
      {Object.entries({ spool, act, ...what }).map(([name, value]) => (
        <input key={name} type="hidden" name={name} value={value} />
      ))}
      <span role="status" className="text-note">
        {QUESTIONS[act]}
      </span>
      <Button type="submit" weight={act === 'purge' ? 'final' : 'primary'}>
        {`Yes, ${label.toLowerCase()}`}
      </Button>
      <Button weight="quiet" onClick={() => ask(false)}>
        No
      </Button>
    </form>
  )
}
