/** Button that deletes an envelope from the inbox, with a confirmation. */
'use client'

import { useState } from 'react'
import { Button } from '../../../ui/button.tsx'

export function DeleteButton({ id }: { id: string }) {
  const [isAsked, ask] = useState(false)
  return (
    <form
      method="post"
      action={`/console/inbox/${id}/delete`}
      className="flex flex-wrap items-center gap-2 text-note"
    >
      {isAsked ? (
        <>
          <span>This cannot be undone.</span>
          <Button type="submit" weight="final">
            Yes, delete
          </Button>
          <Button weight="quiet" onClick={() => ask(false)}>
            No
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
