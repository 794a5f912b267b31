/** Page of the lab for a request without a valid pass. */

import { Shell } from '../../ui/page-shell.tsx'

export function AccessDenied({ why }: { why: string }) {
  return (
    <Shell at="lab">
      <section data-rejection={why} className="card max-w-2xl">
        <h1 className="text-title">No error was triggered.</h1>
        <p className="mt-2 text-quiet">
          This page opens only from a button in the{' '}
          <a href="/lab" className="link">
            error lab
          </a>
          , and only once per click.
        </p>
      </section>
    </Shell>
  )
}
