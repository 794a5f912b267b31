/** Search of the inbox, and its filters by release and environment. It works without scripts. */

import { Button } from '../../../../ui/button.tsx'
import { withQuery } from '../../routes.ts'
import { FILTERS, INBOX, type InboxQuery } from './query.ts'

const CONTROL = 'min-h-10 w-full rounded-part border border-quiet/60 bg-surface px-2 text-note text-ink'

type Props = { query: InboxQuery; releases: readonly string[]; environments: readonly string[] }

export function FilterForm({ query, releases, environments }: Props) {
  const { search, release, environment, ...others } = query
  const isSet = FILTERS.some((name) => query[name] !== undefined)
  return (
    <search className="mb-4 block">
      <form
        action={INBOX}
        className="grid grid-cols-2 items-end gap-x-3 gap-y-2 text-note wide:grid-cols-[minmax(0,1fr)_12rem_12rem_auto]"
      >
        {Object.entries(others).map(([name, value]) => (
          <input key={name} type="hidden" name={name} value={value} />
        ))}
        <label className="col-span-2 grid grid-cols-1 gap-1 text-quiet wide:col-span-1">
          Search
          <input
            type="search"
            name="search"
            maxLength={200}
            defaultValue={search ?? ''}
            placeholder="Message, type, release, URL, event ID"
            className={CONTROL}
          />
        </label>
        <Choice name="release" label="Release" values={releases} chosen={release} />
        <Choice name="environment" label="Environment" values={environments} chosen={environment} />
        <span className="col-span-2 flex items-center gap-3 wide:col-span-1">
          <Button type="submit">Search</Button>
          {isSet && (
            <a href={withQuery(INBOX, others)} className="link-block">
              Show all
            </a>
          )}
        </span>
      </form>
    </search>
  )
}

type ChoiceProps = { name: string; label: string; values: readonly string[]; chosen: string | undefined }

function Choice({ name, label, values, chosen }: ChoiceProps) {
  const all = chosen !== undefined && !values.includes(chosen) ? [chosen, ...values] : values
  return (
    <label className="grid min-w-0 grid-cols-1 gap-1 text-quiet">
      {label}
      <select name={name} defaultValue={chosen ?? ''} className={CONTROL}>
        <option value="">all</option>
        {all.map((value) => (
          <option key={value} value={value}>
            {value}
          </option>
        ))}
      </select>
    </label>
  )
}
