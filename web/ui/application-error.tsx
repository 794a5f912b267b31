/** Error page, with buttons to reload and to go to the start page. */

import { Button, ButtonLink } from './button.tsx'
import { CopyButton } from './code-block.tsx'
import { Mark } from './logo.tsx'

type Props = {
  side: 'client' | 'server'
  host: string
  /** Digest by which the server's log names the error. */
  digest?: string | undefined
  /** ID of the report, for support. */
  eventId?: string | undefined
}

const WHERE_TO_LOOK = { client: 'browser console', server: 'server logs' }

export function ApplicationError({ side, host, digest, eventId }: Props) {
  return (
    <main className="mx-auto max-w-2xl px-5 py-16 wide:py-24">
      <Mark className="size-9" />
      <h1 className="mt-8 text-hero">This page did not work.</h1>
      <p className="mt-4 text-quiet wrap-anywhere">
        {`Application error: a ${side}-side exception has occurred while loading ${host} (see the ${WHERE_TO_LOOK[side]} for more information).`}
      </p>
      {digest && <p className="mt-3 font-mono text-note text-quiet">Digest: {digest}</p>}
      {digest && (
        <p className="mt-3 text-note text-quiet">
          If it happens again, tell the operators of this site, and quote the digest {digest}.
        </p>
      )}
      {eventId && (
        <p className="mt-3 flex flex-wrap items-center gap-3 text-note text-quiet">
          <span>Event ID for support: {eventId}</span>
          <CopyButton text={eventId} label="Copy the event ID" />
        </p>
      )}
      <form
        className="mt-8 flex flex-wrap gap-3"
        onSubmit={(event) => {
          event.preventDefault()
          location.reload()
        }}
      >
        <Button type="submit">Reload</Button>
        <ButtonLink weight="quiet" href="/">
          Go to the start page
        </ButtonLink>
      </form>
    </main>
  )
}
