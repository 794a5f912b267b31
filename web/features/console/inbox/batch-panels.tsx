/** Panels for log lines and metrics of an envelope. */

import { formatQuantity } from '../../../lib/format.ts'
import { Panel, Showing } from '../../../ui/panel.tsx'
import { Exactly } from '../../../ui/relative-time.tsx'
import type { Listed } from '../bounds.ts'
import type { LogLine, Metric } from './batch-items.ts'

export function Logs({ lines: { shown, total } }: { lines: Listed<LogLine> }) {
  if (total === 0) return null
  return (
    <Panel title="Logs" note={formatQuantity(total, 'line')}>
      <ol className="grid grid-cols-1 text-note" aria-label="Log lines, in order of arrival">
        {shown.map(({ timestamp, level, body }, index) => (
          <li
            // biome-ignore lint/suspicious/noArrayIndexKey: lines never move
            key={index}
            className="flex flex-wrap gap-x-3 border-t border-line py-1 first:border-t-0"
          >
            {timestamp !== undefined && <Exactly time={timestamp} />}
            <span className={level === 'error' || level === 'fatal' ? 'text-bad' : 'text-quiet'}>
              {level}
            </span>
            <span className="min-w-0 flex-1 wrap-anywhere whitespace-pre-wrap">{body}</span>
          </li>
        ))}
      </ol>
      <Showing {...{ shown, total }} of="lines" />
    </Panel>
  )
}

export function Metrics({ metrics: { shown, total } }: { metrics: Listed<Metric> }) {
  if (total === 0) return null
  return (
    <Panel title="Metrics" note={formatQuantity(total, 'metric')}>
      <table className="w-full text-note" aria-label="Metrics">
        <tbody>
          {shown.map(({ name, type, value, unit }, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: they never move
            <tr key={index} className="border-t border-line first:border-t-0">
              <th scope="row" className="py-1 text-left font-normal wrap-anywhere">
                {name}
              </th>
              <td className="text-quiet">{type}</td>
              <td className="text-right tabular-nums">
                {value} {unit}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <Showing {...{ shown, total }} of="metrics" />
    </Panel>
  )
}
