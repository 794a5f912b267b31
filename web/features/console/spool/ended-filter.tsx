/** States of the entries as links, and the filter of those that are not pending. It works without scripts. */
'use client'

import type { EntryState } from 'contract/store'
import { useState } from 'react'
import { useHydrated } from '../../../lib/browser-state.ts'
import { Button } from '../../../ui/button.tsx'
import { Choice } from '../../../ui/choice.tsx'
import { withQuery } from '../routes.ts'
import { type EndedState, readTime, SPOOL, type SpoolQuery, STATE_LABELS } from './spool-query.ts'

const STATES = Object.keys(STATE_LABELS) as EntryState[]

export function States({ shown }: { shown: EntryState }) {
  return (
    <nav aria-label="State" className="flex flex-wrap gap-1 text-note">
      {STATES.map((state) => (
        <a
          key={state}
          href={withQuery(SPOOL, { state: state === 'pending' ? undefined : state })}
          aria-current={state === shown ? 'page' : undefined}
          className="link-tab"
        >
          {STATE_LABELS[state]}
        </a>
      ))}
    </nav>
  )
}

type Props = { state: EndedState; query: SpoolQuery; projects: readonly string[] }

export function EndedFilter({ state, query: { project, from, to }, projects }: Props) {
  const isSet = project !== undefined || from !== undefined || to !== undefined
  return (
    <form
      action={SPOOL}
      aria-label="Filter"
      className="grid grid-cols-2 items-end gap-x-3 gap-y-2 text-note wide:grid-cols-[minmax(0,1fr)_14rem_14rem_auto]"
    >
      <input type="hidden" name="state" value={state} />
      <Choice
        name="project"
        label="Project"
        values={projects}
        chosen={project}
        className="col-span-2 wide:col-span-1"
      />
      <TimeField name="from" label="Ended from" given={from} />
      <TimeField name="to" label="Ended until" given={to} />
      <span className="col-span-2 flex items-center gap-3 wide:col-span-1">
        <Button type="submit">Filter</Button>
        {isSet && (
          <a href={withQuery(SPOOL, { state })} className="link-block">
            Show all
          </a>
        )}
      </span>
    </form>
  )
}

/** Time in the reader's zone; without scripts in UTC, since the server does not know the zone. */
function TimeField({ name, label, given }: { name: string; label: string; given: string | undefined }) {
  const isHydrated = useHydrated()
  const [chosen, setChosen] = useState(() => readTime(given))
  const offsetMs = isHydrated && chosen !== undefined ? new Date(chosen).getTimezoneOffset() * 60_000 : 0
  return (
    <label className="grid min-w-0 grid-cols-1 gap-1 text-quiet">
      {isHydrated ? label : `${label} (UTC)`}
      <input
        key={isHydrated ? 'local' : 'utc'}
        type="datetime-local"
        {...(!isHydrated && { name })}
        defaultValue={chosen === undefined ? '' : new Date(chosen - offsetMs).toISOString().slice(0, 16)}
        onChange={({ target }) => setChosen(target.value === '' ? undefined : Date.parse(target.value))}
        className="field"
      />
      {isHydrated && chosen !== undefined && <input type="hidden" name={name} value={chosen} />}
    </label>
  )
}
