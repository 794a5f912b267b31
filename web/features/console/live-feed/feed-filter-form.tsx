/** Filter of the live feed. Its options are the values received so far. On a phone it is collapsed. */
'use client'

import { memo, useState } from 'react'
import { Button } from '../../../ui/button.tsx'
import { stateLabel } from '../../../ui/states.ts'
import { FINAL_OUTCOMES, OUTCOMES } from '../outcomes.ts'
import type { FeedFilter, FilterName } from './filter.ts'
import type { FilterOptions } from './filter-options.ts'

type Props = { filter: FeedFilter; options: FilterOptions; onChange: (filter: FeedFilter) => void }

const OUTCOME_NAMES = [...new Set<string>([...OUTCOMES, ...FINAL_OUTCOMES])]

const CONTROL = 'min-h-10 w-full rounded-part border border-quiet/60 bg-surface px-2 text-note text-ink'

export const FeedFilterForm = memo(function FeedFilterForm({ filter, options, onChange }: Props) {
  const [isShown, setShown] = useState(false)
  const onSet = (name: FilterName, value: string) => onChange({ ...filter, [name]: value })
  const { from: _, to: __, ...named } = filter
  const set = Object.entries(named).map(([name, value]) => (name === 'outcome' ? stateLabel(value) : value))
  const common = { filter, onSet }
  return (
    <form
      className="grid grid-cols-2 items-end gap-x-3 gap-y-2 text-note wide:grid-cols-6"
      aria-label="Filter"
      onSubmit={(event) => event.preventDefault()}
      onReset={() => onChange({})}
    >
      <span className="col-span-2 flex gap-3 wide:hidden">
        <Button weight="quiet" aria-expanded={isShown} onClick={() => setShown(!isShown)}>
          {set.length > 0 ? `Filter: ${set.join(', ')}` : 'Filter'}
        </Button>
      </span>
      <div className={`${isShown ? 'contents' : 'hidden'} wide:contents`}>
        <Choice name="outcome" label="Outcome" values={OUTCOME_NAMES} labelOf={stateLabel} {...common} />
        <Choice name="reason" label="Reason" values={options.reason} {...common} />
        <Choice name="project" label="Project" values={options.project} {...common} />
        <Choice name="type" label="Item" values={options.type} {...common} />
        <Choice name="sdk" label="SDK" values={options.sdk} {...common} />
        <label className="grid grid-cols-1 gap-1 text-quiet">
          Text
          <input
            type="search"
            defaultValue={filter.text ?? ''}
            onChange={(event) => onSet('text', event.target.value)}
            placeholder="ID, event ID, replica"
            className={CONTROL}
          />
        </label>
        {set.length > 0 && (
          <span className="col-span-2 wide:col-span-6">
            <button type="reset" className="link min-h-8 cursor-pointer">
              Show all
            </button>
          </span>
        )}
      </div>
    </form>
  )
})

type ChoiceProps = {
  name: FilterName
  label: string
  filter: FeedFilter
  values: readonly string[]
  labelOf?: (value: string) => string
  onSet: (name: FilterName, value: string) => void
}

function Choice({ name, label, filter, values, labelOf = (value) => value, onSet }: ChoiceProps) {
  const chosen = filter[name] ?? ''
  const all = chosen && !values.includes(chosen) ? [chosen, ...values] : values
  return (
    <label className="grid grid-cols-1 gap-1 text-quiet">
      {label}
      <select value={chosen} onChange={(event) => onSet(name, event.target.value)} className={CONTROL}>
        <option value="">all</option>
        {all.map((value) => (
          <option key={value} value={value}>
            {labelOf(value)}
          </option>
        ))}
      </select>
    </label>
  )
}
