/** Search for an event by its ID. It works without scripts. */

import { Button } from '../../../ui/button.tsx'
import { FIND } from '../find-query.ts'

export function FindForm({ id }: { id: string }) {
  return (
    <search className="block">
      <form action={FIND} className="grid max-w-2xl grid-cols-[minmax(0,1fr)_auto] items-end gap-3 text-note">
        <label className="grid min-w-0 grid-cols-1 gap-1 text-quiet">
          Event ID, or ID of a receipt
          <input
            type="search"
            name="id"
            required
            maxLength={100}
            defaultValue={id}
            autoComplete="off"
            spellCheck={false}
            placeholder="fc6d8c0c43fc4630ad850ee518f1b9d0"
            className="min-h-11 w-full rounded-part border border-quiet/60 bg-surface px-2 font-mono text-note text-ink"
          />
        </label>
        <Button type="submit">Find</Button>
      </form>
    </search>
  )
}
