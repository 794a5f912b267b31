/** Line over a range of time without axes. An absent value is a gap. */

const [WIDTH, HEIGHT] = [100, 20]

export function Sparkline({ values }: { values: readonly (number | null | undefined)[] }) {
  const max = Math.max(...values.map((value) => value ?? 0), Number.MIN_VALUE)
  const path = values.map((value, index) => {
    if (value === undefined || value === null) return ''
    const x = (WIDTH * index) / Math.max(1, values.length - 1)
    const y = HEIGHT - 1 - ((HEIGHT - 2) * value) / max
    const position = `${x.toFixed(1)} ${y.toFixed(1)}`
    return (values[index - 1] ?? undefined) === undefined ? `M${position}h.1` : `L${position}`
  })
  return (
    <svg
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      aria-hidden="true"
      className="block h-5 w-full text-quiet"
    >
      <path
        d={`${path.join('')}h.1`}
        fill="none"
        stroke="currentColor"
        strokeWidth="1.5"
        strokeLinecap="round"
        vectorEffect="non-scaling-stroke"
      />
    </svg>
  )
}
