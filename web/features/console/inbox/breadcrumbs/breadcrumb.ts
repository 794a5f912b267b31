/** Breadcrumb in readable form: its kind, one line, and its data. */

import { formatJson, formatJsonLine } from '../../../../lib/format-json.ts'
import { type Budget, TEXT } from '../../bounds.ts'
import { type Breadcrumb, formatValue } from '../event.ts'

/** Kinds with a mark of their own; `other` is named by its category. */
export type BreadcrumbKind = 'click' | 'input' | 'navigation' | 'http' | 'console' | 'sentry' | 'other'

export type ShownBreadcrumb = {
  timestamp: number | undefined
  kind: BreadcrumbKind
  /** Name of the kind, or the category. */
  label: string
  category: string | undefined
  level: string | undefined
  text: string
  /** As JSON; absent when the text says all of it. */
  data: string | undefined
}

const LABELS: Record<Exclude<BreadcrumbKind, 'other'>, string> = {
  click: 'Click',
  input: 'Input',
  navigation: 'Navigation',
  http: 'HTTP',
  console: 'Console',
  sentry: 'Sentry',
}

const HTTP = ['fetch', 'xhr', 'http']

export function breadcrumbIn(budget: Budget) {
  return ({ timestamp, ...crumb }: Breadcrumb): ShownBreadcrumb => {
    const { data } = crumb
    const kind = kindOf(crumb.category)
    const category = budget.optional(crumb.category, TEXT.name)
    const level = budget.optional(crumb.level, TEXT.name)
    const text = budget.text(describe(kind, crumb), TEXT.line)
    const isSaid =
      data === undefined || Object.keys(data).length === 0 || (!crumb.message && kind === 'other')
    return {
      ...{ timestamp, kind, category, level, text },
      label: kind === 'other' ? (category ?? 'default') : LABELS[kind],
      data: isSaid ? undefined : budget.text(formatJson(data, TEXT.line), TEXT.line),
    }
  }
}

function kindOf(category = ''): BreadcrumbKind {
  if (HTTP.includes(category)) return 'http'
  if (category === 'navigation' || category === 'console') return category
  if (category.startsWith('sentry.')) return 'sentry'
  if (category.startsWith('ui.')) return category === 'ui.input' ? 'input' : 'click'
  return 'other'
}

function describe(kind: BreadcrumbKind, { message, data = {} }: Omit<Breadcrumb, 'timestamp'>): string {
  const { method, url, status_code: status, from, to, arguments: args } = data
  if (kind === 'http' && url !== undefined)
    return [method, url, status].flatMap((part) => (part === undefined ? [] : formatValue(part))).join(' ')
  if (kind === 'navigation' && to !== undefined)
    return from === undefined ? formatValue(to) : `${formatValue(from)} → ${formatValue(to)}`
  if (kind === 'console' && Array.isArray(args) && typeof args[0] === 'string' && args[0].includes('%c'))
    return formatLog(args)
  return message ?? (Object.keys(data).length > 0 ? formatJsonLine(data, TEXT.line) : '')
}

/** Formats the arguments of `console.log` as a browser does, without the styles of `%c` (Console Standard, formatter). */
function formatLog([format, ...values]: unknown[]): string {
  let used = 0
  const text = String(format).replaceAll(/%[csdifoO]/g, (directive) => {
    if (used >= values.length) return directive
    const value = formatValue(values[used++])
    return directive === '%c' ? '' : value
  })
  return [text.trim(), ...values.slice(used).map(formatValue)].join(' ')
}
