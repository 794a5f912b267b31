/** Log lines and metrics as they came together. */

import type { LogLine, Metric } from '../../lib/console/batch.ts'
import { sayMany } from '../../lib/console/words.ts'
import { Exactly } from './ago.tsx'
import { Panel } from './panel.tsx'

const MOST_SHOWN = 200

export function Logs({ lines }: { lines: readonly LogLine[] }) {
  if (lines.length === 0) return null
  return (
    <Panel title="Log" note={sayMany(lines.length, 'line')}>
      <ol className="grid grid-cols-1 text-note" aria-label="Log lines, as they came">
        {lines.slice(0, MOST_SHOWN).map(({ timestamp, level, body }, index) => (
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
    </Panel>
  )
}

export function Metrics({ metrics }: { metrics: readonly Metric[] }) {
  if (metrics.length === 0) return null
  return (
    <Panel title="Metrics" note={sayMany(metrics.length, 'figure')}>
      <table className="w-full text-note" aria-label="Metrics">
        <tbody>
          {metrics.slice(0, MOST_SHOWN).map(({ name, type, value, unit }, index) => (
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
    </Panel>
  )
}
