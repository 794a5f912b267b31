/** Formats numbers with units, and times. */

export { formatCount, formatQuantity } from 'contract/quantities'

const NUMBER = new Intl.NumberFormat('en-GB')
const SHORT = new Intl.NumberFormat('en-GB', { maximumFractionDigits: 1 })

const TIME = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' }) // kept, since making one costs more than its text

const UNITS = ['B', 'KB', 'MB', 'GB', 'TB']

export function formatBytes(bytes: number): string {
  const power = Math.min(UNITS.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3))
  return `${SHORT.format(bytes / 1000 ** power)} ${UNITS[power]}`
}

export function formatRate(perSecond: number): string {
  if (perSecond === 0) return '0/s'
  if (perSecond < 1) return `${SHORT.format(perSecond * 60)}/min`
  return `${perSecond < 100 ? SHORT.format(perSecond) : NUMBER.format(Math.round(perSecond))}/s`
}

/** Returns one unit for rates that are shown together, by the largest of them. */
export function rateUnit(most: number): { unit: 'second' | 'minute'; per: '/s' | '/min'; seconds: number } {
  return most >= 2 ? { unit: 'second', per: '/s', seconds: 1 } : { unit: 'minute', per: '/min', seconds: 60 }
}

/** Formats a number without a unit. */
export function formatNumber(value: number): string {
  if (value > 0 && value < 0.1) return '<0.1'
  return value < 100 ? SHORT.format(value) : NUMBER.format(Math.round(value))
}

export function formatPercent(share: number): string {
  if (share > 0 && share < 0.001) return '<0.1 %'
  return `${SHORT.format(share * 100)} %`
}

/** 0.4 ms, 12 s, 3 min, 5 h, 2 days. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${SHORT.format(ms)} ms`
  if (ms < 90_000) return `${SHORT.format(ms / 1_000)} s`
  if (ms < 90 * 60_000) return `${Math.round(ms / 60_000)} min`
  if (ms < 36 * 3_600_000) return `${Math.round(ms / 3_600_000)} h`
  return `${Math.round(ms / 86_400_000)} days`
}

/** Formats a time of day, like the functions below in the reader's time zone. */
export function formatTime(time: number): string {
  return TIME.format(time)
}

/** Formats date and time to the millisecond. */
export function formatTimestamp(time: number): string {
  const millis = String(Math.floor(time % 1000)).padStart(3, '0')
  return `${new Date(time).toLocaleDateString('en-GB', { dateStyle: 'medium' })}, ${formatTime(time)}.${millis}`
}

export function formatMinute(time: number): string {
  return new Date(time).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })
}

const DAYS_FROM_TODAY: Record<number, string> = { [-1]: 'yesterday ', 0: '', 1: 'tomorrow ' }

/** Formats a time for a sentence: "07:09", "tomorrow 07:09", "24 Nov 07:09". */
export function formatWhen(time: number, now: number): string {
  const [day, today] = [new Date(time).setHours(0, 0, 0, 0), new Date(now).setHours(0, 0, 0, 0)]
  const days = Math.round((day - today) / 86_400_000) // rounded: a day may have 23 or 25 hours
  const date = () => `${new Date(time).toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })} `
  return `${DAYS_FROM_TODAY[days] ?? date()}${formatMinute(time)}`
}

export function formatDateTime(time: number): string {
  return new Date(time).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })
}
