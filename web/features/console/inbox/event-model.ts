/** View model of an event, with every list and text bounded. */

import { type Json, object } from 'contract/json'
import { browserOf, systemOf } from 'contract/user-agent'
import { firstEntries, formatJson, formatJsonLine } from '../../../lib/format-json.ts'
import { type Budget, type Listed, ROWS, TEXT } from '../bounds.ts'
import {
  type Breadcrumb,
  type Exception,
  type Feedback,
  type Frame,
  feedbackOf,
  formatValue,
  type SentryEvent,
  type Span,
  sizeOf,
  traceOf,
} from './event.ts'

export type Fact = [name: string, value: string]

/** Name of the fact that is copied. */
export const EVENT_ID = 'Event ID'

export type ShownFrame = {
  name: string
  /** File, line and column. */
  place: string
  isOwn: boolean
  code: { before: string[]; line: string; after: string[] } | undefined
  variables: Listed<Fact>
}

export type ShownException = {
  type: string | undefined
  value: string | undefined
  note: string | undefined
  /** Most recent call first. */
  frames: Listed<ShownFrame>
}

export type EventModel = {
  id: string | undefined
  time: number | undefined
  feedback: Feedback | undefined
  /** Outermost first. */
  exceptions: Listed<ShownException>
  /** Absent unless the event is a transaction. */
  spans: Listed<Span> | undefined
  /** Oldest first; older ones are left out. */
  breadcrumbs: Listed<ShownBreadcrumb>
  facts: Fact[]
  tags: Listed<Fact>
  user: Listed<Fact>
  /** Each as JSON. */
  contexts: Listed<Fact>
}

/** Models an event that was read from this JSON. */
export function modelEvent(json: unknown, event: SentryEvent, budget: Budget): EventModel {
  const totalOf = (name: string) => sizeOf(Object(json)[name])
  const { event_id: id, timestamp: time, start_timestamp: start, tags, user, contexts } = event
  const feedback = feedbackOf(event)
  return {
    id: budget.optional(id, TEXT.name),
    time,
    feedback: feedback && cutFeedback(feedback, budget),
    facts: budget.rows(factsOf(event, object(json)), ROWS.facts, factIn(budget)).shown,
    exceptions: budget.rows(
      event.exception.toReversed(),
      ROWS.exceptions,
      exceptionIn(budget, originOf(event.request?.url)),
      totalOf('exception'),
    ),
    tags: budget.rows(tags, ROWS.facts, factIn(budget), tagCount(json, tags)),
    user: budget.rows(firstOf(user), ROWS.facts, factIn(budget), countOf(user)),
    breadcrumbs: breadcrumbsIn(event.breadcrumbs, totalOf('breadcrumbs'), budget),
    contexts: budget.rows(
      firstOf(contexts),
      ROWS.contexts,
      ([name, value]): Fact => [
        budget.text(name, TEXT.name),
        budget.text(formatJson(value, TEXT.json), TEXT.json),
      ],
      countOf(contexts),
    ),
    spans:
      start === undefined
        ? undefined
        : shownSpans([wholeOf(event), ...event.spans], totalOf('spans') + 1, budget),
  }
}

/** Returns the spans that began first. */
export function shownSpans(spans: readonly Span[], total: number, budget: Budget): Listed<Span> {
  const sorted = spans.toSorted((a, b) => (a.start_timestamp ?? 0) - (b.start_timestamp ?? 0))
  return budget.rows(
    sorted,
    ROWS.spans,
    ({ span_id: id, parent_span_id: parent, op, description, status, start_timestamp, timestamp }) => ({
      ...{ span_id: id?.slice(0, TEXT.name), parent_span_id: parent?.slice(0, TEXT.name) },
      ...{ op: budget.optional(op, TEXT.name), status: budget.optional(status, TEXT.name) },
      ...{ description: budget.optional(description, TEXT.title), start_timestamp, timestamp },
    }),
    total,
  )
}

/** Counts tags, which are an object or a list of pairs. */
function tagCount(json: unknown, read: readonly unknown[]): number {
  const { tags } = Object(json)
  return Math.max(read.length, Array.isArray(tags) ? tags.length : Object.keys(Object(tags)).length)
}

function cutFeedback({ message, name, email, url }: Feedback, budget: Budget): Feedback {
  return {
    message: budget.optional(message, TEXT.message),
    name: budget.optional(name, TEXT.name),
    email: budget.optional(email, TEXT.name),
    url: budget.optional(url, TEXT.path),
  }
}

function factIn(budget: Budget) {
  return ([name, value]: [name: string, value: unknown]): Fact => [
    budget.text(name, TEXT.name),
    budget.text(formatValue(value), TEXT.line),
  ]
}

/** Formats a variable, whose value may be a large object. */
function variableIn(budget: Budget) {
  return ([name, value]: [name: string, value: unknown]): Fact => [
    budget.text(name, TEXT.name),
    budget.text(formatJsonLine(value, TEXT.name), TEXT.name),
  ]
}

function firstOf(record: Record<string, unknown> | undefined): [name: string, value: unknown][] {
  return record ? firstEntries(record, ROWS.facts) : []
}

function countOf(record: Record<string, unknown> | undefined): number {
  return record ? Object.keys(record).length : 0
}

/** Returns the start of addresses of the page's own site: its origin with a slash. */
function originOf(page: string | undefined): string | undefined {
  return page !== undefined && URL.canParse(page) ? `${new URL(page).origin}/` : undefined
}

function exceptionIn(budget: Budget, ownOrigin: string | undefined) {
  return ({ type, value, mechanism, stacktrace }: Exception): ShownException => ({
    type: budget.optional(type, TEXT.name),
    value: budget.optional(value, TEXT.message),
    note: mechanism?.handled === false ? 'unhandled' : budget.optional(mechanism?.type, TEXT.name),
    frames: budget.rows(
      stacktrace?.frames.toReversed() ?? [],
      ROWS.frames,
      frameIn(budget, ownOrigin),
      stacktrace?.frameCount ?? 0,
    ),
  })
}

/** Leaves the page's own origin out: every frame of the site's own scripts would repeat it. */
function frameIn(budget: Budget, ownOrigin: string | undefined) {
  return (frame: Frame): ShownFrame => {
    const { filename, abs_path: path, function: name, lineno, colno, context_line: line, vars } = frame
    const file = filename || path || 'unknown'
    const isOwnFile = ownOrigin !== undefined && file.startsWith(ownOrigin)
    const place = budget.text(isOwnFile ? file.slice(ownOrigin.length - 1) : file, TEXT.path)
    const code = (text: string) => budget.text(text, TEXT.codeLine)
    return {
      name: budget.text(name ?? '<anonymous>', TEXT.name),
      place: [place, lineno, colno].filter((part) => part !== undefined).join(':'),
      isOwn: frame.in_app !== false,
      code:
        line === undefined
          ? undefined
          : {
              before: frame.pre_context.map(code),
              line: code(line),
              after: frame.post_context.slice(0, ROWS.contextLines).map(code),
            },
      variables: budget.rows(firstOf(vars), ROWS.variables, variableIn(budget), countOf(vars)),
    }
  }
}

/** Keeps the newest breadcrumbs, which are nearest to the error. */
function breadcrumbsIn(
  crumbs: readonly Breadcrumb[],
  total: number,
  budget: Budget,
): Listed<ShownBreadcrumb> {
  const { shown } = budget.rows(crumbs.toReversed(), ROWS.breadcrumbs, breadcrumbIn(budget), total)
  return { shown: shown.reverse(), total }
}

/** Returns the transaction itself as a span. */
function wholeOf({ contexts, transaction, start_timestamp, timestamp }: SentryEvent): Span {
  const { span_id: id, op, status } = traceOf(contexts)
  return {
    ...{ span_id: id, parent_span_id: undefined, op, description: transaction, status },
    ...{ start_timestamp, timestamp },
  }
}

function factsOf(event: SentryEvent, json: Json): Fact[] {
  const { level, environment, release, platform, transaction, request, sdk, event_id: id } = event
  const facts: [string, string | undefined][] = [
    ['Level', level],
    ['Page', request?.url],
    ['Transaction', transaction],
    ['Environment', environment],
    ['Release', release],
    ['Browser', browserOf(json) || undefined],
    ['System', systemOf(json) || undefined],
    ['Platform', platform],
    ['SDK', sdk && `${sdk.name ?? ''} ${sdk.version ?? ''}`],
    [EVENT_ID, id],
  ]
  return facts.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))
}

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
  /** JSON; absent when the text has all of it. */
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
  if ((kind === 'click' || kind === 'input') && message !== undefined)
    return shortenClasses(message.slice(0, TEXT.line)) // the pattern takes quadratic time
  return message ?? (Object.keys(data).length > 0 ? formatJsonLine(data, TEXT.line) : '')
}

const MAX_CLASSES = 2
const ELEMENT = /^([^.]*)\.(.*?)((?:\[[\w-]+="[^"]*"\])*)$/s

/** Leaves out all but the first classes of each element of a selector, such as `div.a.b.c > button.d[type="submit"]`. */
function shortenClasses(selector: string): string {
  const elements = selector.split(' > ').map((element) => {
    const [, name = '', classes = '', attributes = ''] = ELEMENT.exec(element) ?? []
    const all = classes.split('.')
    return all.length > MAX_CLASSES ? `${name}.${all.slice(0, MAX_CLASSES).join('.')}…${attributes}` : element
  })
  return elements.join(' > ')
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
