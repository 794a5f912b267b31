/** One line over the last quarter of an hour, as small as a word: its shape, no figures. */

import { shownFrom } from './history.ts'

type Props = { times: number[]; values: number[] }

const [WIDTH, HEIGHT] = [100, 20]

export function Sparkline({ times, values }: Props) {
  const last = times.at(-1) ?? 0
  const from = shownFrom(times[0] ?? 0, last)
  const p95 = Math.max(...values, Number.MIN_VALUE)
  const places = values.map((value, index) => [
    (WIDTH * ((times[index] ?? last) - from)) / (last - from),
    HEIGHT - 1 - ((HEIGHT - 2) * value) / p95,
  ])
  const path = places.map(([x = 0, y = 0]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join('L')
  return (
    <svg
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      aria-hidden="true"
      className="block h-5 w-full text-quiet"
    >
      <path
        d={`M${path}h.1`}
        fill="none"
        stroke="currentColor"
        strokeWidth="1.5"
        strokeLinecap="round"
        vectorEffect="non-scaling-stroke"
      />
    </svg>
  )
}
