/** Choice of one value of a filter, or of all. A chosen value stays among the options. */

import type { ComponentProps } from 'react'

type Props = Pick<ComponentProps<'select'>, 'name' | 'className' | 'onChange'> & {
  label: string
  values: readonly string[]
  chosen: string | undefined
  labelOf?: (value: string) => string
}

/** Without `onChange`, it is for a form that works without scripts. */
export function Choice({ label, values, chosen = '', labelOf, className = '', onChange, name }: Props) {
  const all = chosen && !values.includes(chosen) ? [chosen, ...values] : values
  return (
    <label className={`grid min-w-0 grid-cols-1 gap-1 text-quiet ${className}`}>
      {label}
      <select
        className="field"
        {...(name !== undefined && { name })}
        {...(onChange ? { value: chosen, onChange } : { defaultValue: chosen })}
      >
        <option value="">all</option>
        {all.map((value) => (
          <option key={value} value={value}>
            {labelOf ? labelOf(value) : value}
          </option>
        ))}
      </select>
    </label>
  )
}
