/** Preformatted text that may scroll. It is a tab stop, so that the keyboard can scroll it. */

import type { ReactNode } from 'react'

export function Preformatted({ className = '', children }: { className?: string; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
    <pre tabIndex={0} className={`overflow-auto font-mono text-note ${className}`}>
      {children}
    </pre>
  )
}
