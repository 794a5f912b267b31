/** Columns over a range of time without axes. An absent value is a gap, and zero a thin line. */

const [WIDTH, HEIGHT] = [100, 20]

export function Sparkline({ values }: { values: readonly (number | null | undefined)[] }) {
  const max = Math.max(1, ...values.map((value) => value ?? 0))
  const width = WIDTH / values.length
  const path = values.map((value, index) => {
    if (value === undefined || value === null) return ''
    const height = 1 + ((HEIGHT - 1) * value) / max
    return `M${(index * width).toFixed(1)} ${HEIGHT}v-${height.toFixed(1)}h${(0.8 * width).toFixed(2)}V${HEIGHT}`
  })
  return (
    <svg
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      aria-hidden="true"
      className="block h-5 w-full fill-quiet"
    >
      <path d={path.join('')} />
    </svg>
  )
}
