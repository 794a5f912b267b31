/** Charts of the chosen time range. */
'use client'

import { Panel } from '../../../ui/panel.tsx'
import { TimeZone } from '../../../ui/relative-time.tsx'
import type { RangeFigures } from '../figures/figure-sums.ts'
import type { Range } from '../figures/range.ts'
import { CategoryChart, DurationChart, OutcomeChart, PendingChart } from './charts.tsx'
import { RangePicker } from './range-picker.tsx'

type Props = {
  range: Range
  /** Absent when no replica has returned them; `missing` says why. */
  figures: RangeFigures | undefined
  /** Description of what the figures lack. */
  missing: string | undefined
  /** Shows the chart of pending envelopes. */
  hasPending: boolean
}

export function RangeCharts({ range, figures, missing, hasPending }: Props) {
  return (
    <Panel title={`Last ${range.words}`} note={<TimeZone />}>
      <div className="mb-4 flex flex-wrap items-center gap-x-4 gap-y-2">
        <RangePicker range={range} />
        {figures && (
          <p className="hidden text-note text-quiet wide:block">
            Click or drag on a chart to list its envelopes in the live feed.
          </p>
        )}
      </div>
      {missing !== undefined && (
        <p role="status" className="mb-4 max-w-prose text-note wrap-anywhere">
          {missing}
        </p>
      )}
      {figures && (
        <div className="grid grid-cols-1 gap-x-8 gap-y-5 wide:grid-cols-2">
          <div className="min-w-0 wide:col-span-2">
            <OutcomeChart {...{ figures, range }} />
          </div>
          <div className="min-w-0 wide:col-span-2">
            <CategoryChart {...{ figures, range }} />
          </div>
          <div className={hasPending ? 'min-w-0' : 'min-w-0 wide:col-span-2'}>
            <DurationChart {...{ figures, range }} />
          </div>
          {hasPending && <PendingChart {...{ figures, range }} />}
        </div>
      )}
    </Panel>
  )
}
