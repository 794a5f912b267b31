/** Raised surface around related content. */

import type { ComponentProps } from 'react'

export function Card({ className = '', ...rest }: ComponentProps<'section'>) {
  return (
    <section className={`rounded-card border border-line bg-surface p-5 wide:p-7 ${className}`} {...rest} />
  )
}
