/** Takes an envelope out of the inbox, after a second click. */
'use client'

import { useState } from 'react'
import { Button } from '../../../ui/button.tsx'

export function RemoveEnvelope({ id }: { id: string }) {
  const [isAsked, ask] = useState(false)
  return (
    <form
      method="post"
      action={`/console/inbox/${id}/delete`}
      className="flex flex-wrap items-center gap-2 text-note"
    >
      {isAsked ? (
        <>
          <span>It cannot be brought back.</span>
          <Button type="submit" weight="final">
            Delete it
          </Button>
          <Button weight="quiet" onClick={() => ask(false)}>
            Keep it
          </Button>
        </>
      ) : (
        <Button weight="quiet" onClick={() => ask(true)}>
          Delete
        </Button>
      )}
    </form>
  )
}
