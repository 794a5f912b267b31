/** Buttons, and links that look like buttons. */

import type { ComponentProps } from 'react'

type Weight = 'primary' | 'quiet' | 'light' | 'faint' | 'final'

const WEIGHTS: Record<Weight, string> = {
  primary: 'button-primary',
  quiet: 'font-semibold border-quiet/45 bg-surface text-ink hover:border-accent hover:text-accent',
  final: 'font-semibold border-bad bg-bad text-on-accent hover:opacity-90', // for actions that cannot be undone
  light: 'font-semibold border-transparent text-accent underline underline-offset-4 hover:text-accent-over', // for buttons of a list
  faint: 'border-transparent text-quiet underline underline-offset-4 hover:text-bad', // for rare actions beside others
}

export function Button({ weight = 'primary', ...rest }: ComponentProps<'button'> & { weight?: Weight }) {
  return <button type="button" className={`button ${WEIGHTS[weight]}`} {...rest} />
}

export function ButtonLink({ weight = 'primary', ...rest }: ComponentProps<'a'> & { weight?: Weight }) {
  return <a className={`button ${WEIGHTS[weight]}`} {...rest} />
}
