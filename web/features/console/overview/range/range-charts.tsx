/** Charts of the chosen time range. */
'use client'

import { Panel } from '../../../../ui/panel.tsx'
import { TimeZone } from '../../../../ui/relative-time.tsx'
import type { Point } from '../../monitor/replica-monitor.ts'
import { CategoryChart, DurationChart, OutcomeChart, PendingChart } from '../charts.tsx'
import type { Range } from './range.ts'
import { RangePicker } from './range-picker.tsx'

type Props = {
  range: Range
  /** Absent when no replica returned the history; `missing` says why. */
  points: Point[] | undefined
  /** Description of what the history lacks. */
  missing: string | undefined
  /** Shows the chart of pending envelopes. */
  hasPending: boolean
}

export function RangeCharts({ range, points, missing, hasPending }: Props) {
  return (
    <Panel title={`Last ${range.words}`} note={<TimeZone />}>
      <div className="mb-4 flex flex-wrap items-center gap-x-4 gap-y-2">
        <RangePicker range={range} />
        {points && (
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
      {points && (
        <div className="grid grid-cols-1 gap-x-8 gap-y-5 wide:grid-cols-2">
          <div className="min-w-0 wide:col-span-2">
            <OutcomeChart {...{ points, range }} />
          </div>
          <div className="min-w-0 wide:col-span-2">
            <CategoryChart {...{ points, range }} />
          </div>
          <div className={hasPending ? 'min-w-0' : 'min-w-0 wide:col-span-2'}>
            <DurationChart {...{ points, range }} />
          </div>
          {hasPending && <PendingChart {...{ points, range }} />}
        </div>
      )}
    </Panel>
  )
}
