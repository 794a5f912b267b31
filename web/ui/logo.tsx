/** Logo: a pipe under a road. */

export function Mark({ className = 'size-7' }: { className?: string }) {
  return (
    <svg viewBox="0 0 32 32" className={className} aria-hidden="true">
      <rect width="32" height="32" rx="8" className="fill-accent" />
      <path d="M5 12h22" className="stroke-on-accent" strokeWidth="3" strokeLinecap="round" />
      <circle cx="16" cy="20.5" r="4.5" fill="none" className="stroke-on-accent" strokeWidth="3" />
    </svg>
  )
}
