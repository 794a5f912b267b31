/** Numbers with their units, and times as people say them. */

const NUMBER = new Intl.NumberFormat('en-GB')
const SHORT = new Intl.NumberFormat('en-GB', { maximumFractionDigits: 1 })

export function sayCount(count: number): string {
  return NUMBER.format(count)
}

const UNITS = ['B', 'KB', 'MB', 'GB', 'TB']

export function sayBytes(bytes: number): string {
  const power = Math.min(UNITS.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3))
  return `${SHORT.format(bytes / 1000 ** power)} ${UNITS[power]}`
}

export function sayRate(perSecond: number): string {
  if (perSecond === 0) return '0/s'
  if (perSecond < 1) return `${SHORT.format(perSecond * 60)}/min`
  return `${perSecond < 100 ? SHORT.format(perSecond) : NUMBER.format(Math.round(perSecond))}/s`
}

export function sayShare(share: number): string {
  return `${SHORT.format(share * 100)} %`
}

/** 0.4 ms, 12 s, 3 min, 5 h, 2 days. */
export function sayDuration(ms: number): string {
  if (ms < 1_000) return `${SHORT.format(ms)} ms`
  if (ms < 90_000) return `${SHORT.format(ms / 1_000)} s`
  if (ms < 90 * 60_000) return `${Math.round(ms / 60_000)} min`
  if (ms < 36 * 3_600_000) return `${Math.round(ms / 3_600_000)} h`
  return `${Math.round(ms / 86_400_000)} days`
}

/** In the reader's own zone. */
export function sayClock(time: number): string {
  return new Date(time).toLocaleTimeString('en-GB', { hour12: false })
}

export function sayMoment(time: number): string {
  return new Date(time).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })
}
