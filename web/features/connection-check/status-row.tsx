/** Row of a list of checks. Keeps its height while the result arrives. */

import type { ReactNode } from 'react'
import type { State } from '../../ui/states.ts'
import { StateMark } from '../../ui/status-badge.tsx'

type Props = {
  state: State
  title: ReactNode
  /** Figure at the end, such as a duration. */
  figure?: ReactNode
  children: ReactNode
}

export function StatusRow({ state, title, figure, children }: Props) {
  return (
    <li className="grid min-h-32 grid-cols-[auto_1fr_auto] content-start gap-x-3 border-t border-line py-4 first:border-t-0 wide:min-h-24">
      <StateMark state={state} className="mt-1 size-5" />
      <strong className="font-semibold">{title}</strong>
      <span className="font-mono text-note leading-7 text-quiet tabular-nums">{figure}</span>
      <div className="col-start-2 col-end-4">{children}</div>
    </li>
  )
}
