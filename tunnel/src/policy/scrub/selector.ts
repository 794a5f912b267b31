/** Selectors of Relay's PII configuration (relay-pii/src/selector.rs): which values a rule applies to. */

import { isPairList, isPersonal, type Path } from './protected.ts'

export type ValueKind = 'string' | 'number' | 'boolean' | 'array' | 'object'

/**
 * Value to match. `aliases` are the paths that have the name of a pair in place of the indexes of its value. `isProtected` is true for what
 * only a selector that names it may select.
 */
export type Selected = {
  path: Path
  aliases: readonly Path[]
  kind: ValueKind
  itemType: string
  isProtected: boolean
}

export type Selector = (value: Selected) => boolean

/** Syntax error, with the offset in the selector. */
export class SelectorError extends Error {
  readonly offset: number

  constructor(message: string, offset: number) {
    super(message)
    this.offset = offset
  }
}

type Step =
  | { kind: 'key'; key: string }
  | { kind: 'index'; index: number }
  | { kind: 'type'; type: TypeName }
  | { kind: 'wildcard' }
  | { kind: 'deep' }

/** Places of Relay's value types. `at` is the position in the path of the value whose type is asked; -1 is the root. */
const TYPES = {
  string: ({ kind }, at, last) => at === last && kind === 'string',
  number: ({ kind }, at, last) => at === last && kind === 'number',
  boolean: ({ kind }, at, last) => at === last && kind === 'boolean',
  array: ({ path, kind }, at, last) => (at === last ? kind === 'array' : isBelowList(path, at)),
  object: ({ path, kind }, at, last) => (at === last ? kind === 'object' : typeof path[at + 1] === 'string'),
  event: ({ itemType }, at) => at === -1 && ['event', 'transaction', 'feedback'].includes(itemType),
  transaction: ({ itemType }, at) => at === -1 && itemType === 'transaction',
  replay: ({ itemType }, at) => at === -1 && itemType === 'replay_event',
  log: ({ itemType }, at) => at === -1 && itemType === 'log',
  trace_metric: ({ itemType }, at) => at === -1 && itemType === 'trace_metric',
  span: ({ itemType, path }, at) =>
    at === -1 ? itemType === 'span' : isElement(path, at, 'spans') && at === 1,
  request: ({ path }, at) => at === 0 && path[0] === 'request',
  http: ({ path }, at) => at === 0 && path[0] === 'request',
  user: ({ path }, at) => at === 0 && path[0] === 'user',
  sdk: ({ path }, at) => at === 0 && path[0] === 'sdk',
  logentry: ({ path }, at) => at === 0 && path[0] === 'logentry',
  message: ({ path }, at) =>
    (at === 0 && path[0] === 'message') ||
    (at === 1 && path[0] === 'logentry' && (path[1] === 'message' || path[1] === 'formatted')),
  exception: ({ path }, at) => isElement(path, at, 'exception'),
  error: ({ path }, at) => isElement(path, at, 'exception'),
  thread: ({ path }, at) => isElement(path, at, 'threads'),
  breadcrumb: ({ path }, at) => isElement(path, at, 'breadcrumbs'),
  stacktrace: ({ path }, at) => path[at] === 'stacktrace' || path[at] === 'raw_stacktrace',
  frame: ({ path }, at) => isElement(path, at, 'frames'),
} satisfies Record<string, (value: Selected, at: number, last: number) => boolean>

type TypeName = keyof typeof TYPES

const BASIC: readonly string[] = ['string', 'number', 'boolean', 'array', 'object']
const ESSENTIAL: readonly string[] = [
  'event transaction replay log trace_metric exception error thread stacktrace frame',
].flatMap((line) => line.split(' '))
const OLD_NAMES: Readonly<Record<string, string>> = {
  freeform: '$string',
  email: '$string',
  sensitive: '$string',
  text: '$string',
  databag: '$object',
  container: '$object',
}

/** Returns `true` if a value is an element of a list, in an array of its own or under `values`. */
function isElement(path: Path, at: number, list: string): boolean {
  if (typeof path[at] !== 'number') return false
  return path[at - 1] === list || (path[at - 1] === 'values' && path[at - 2] === list)
}

/** Returns `true` if a value of the app lies below a list. Headers and the like are no lists for Relay. */
function isBelowList(path: Path, at: number): boolean {
  if (typeof path[at + 1] !== 'number' || !isPersonal(path)) return false
  return !isPairList(path.slice(0, at + 1)) && !isPairList(path.slice(0, at))
}

/** Parses a selector. Throws `SelectorError`. */
export function parseSelector(text: string): Selector {
  return new SelectorParser(OLD_NAMES[text] ?? text).parse()
}

const TOKEN = /\s*(&&?|\|\|?|[!~()]|\.|\*\*?|\$[a-z_]+|\d+|[A-Za-z_][\w-]*|'(?:[^']|'')+')/y

class SelectorParser {
  readonly #text: string
  #at = 0
  #token: string | undefined
  #tokenStart = 0

  constructor(text: string) {
    this.#text = text
    this.#advance()
  }

  parse(): Selector {
    const selector = this.#any()
    if (this.#token !== undefined) this.#fail(`unexpected "${this.#token}"`)
    return selector
  }

  #advance(): void {
    TOKEN.lastIndex = this.#at
    const match = TOKEN.exec(this.#text)
    this.#tokenStart = match ? TOKEN.lastIndex - (match[1]?.length ?? 0) : this.#at
    this.#token = match?.[1]
    if (!match && this.#text.slice(this.#at).trim() !== '') this.#fail('unexpected character')
    if (match) this.#at = TOKEN.lastIndex
  }

  #isAt(token: string): boolean {
    return this.#token === token
  }

  #fail(message: string): never {
    throw new SelectorError(message, this.#tokenStart)
  }

  #any(): Selector {
    const parts = [this.#all()]
    while (this.#token?.startsWith('|')) {
      this.#advance()
      parts.push(this.#all())
    }
    return (value) => parts.some((part) => part(value))
  }

  /** A protected value needs a part that names it: parts with `!` name none. */
  #all(): Selector {
    const parts: Selector[] = []
    const excluded: Selector[] = []
    for (;;) {
      const isNegated = this.#isAt('!') || this.#isAt('~')
      if (isNegated) this.#advance()
      const list = isNegated ? excluded : parts
      list.push(this.#primary())
      if (!this.#token?.startsWith('&')) break
      this.#advance()
    }
    return (value) =>
      (parts.length > 0 || !value.isProtected) &&
      parts.every((part) => part(value)) &&
      !excluded.some((part) => part({ ...value, isProtected: false }))
  }

  #primary(): Selector {
    if (!this.#isAt('(')) return this.#path()
    this.#advance()
    const inner = this.#any()
    if (!this.#isAt(')')) this.#fail('a closing parenthesis is missing')
    this.#advance()
    return inner
  }

  #path(): Selector {
    const steps = [this.#step()]
    while (this.#token === '.') {
      this.#advance()
      steps.push(this.#step())
    }
    if (steps.filter(({ kind }) => kind === 'deep').length > 1) this.#fail('** stands there more than once')
    if (steps.length === 1 && steps[0]?.kind === 'wildcard') this.#fail('* must be part of a path')
    return createPathSelector(steps)
  }

  #step(): Step {
    const token = this.#token
    if (token === undefined) this.#fail('a path is missing')
    const step = this.#stepOf(token)
    this.#advance()
    return step
  }

  #stepOf(token: string): Step {
    if (token === '*') return { kind: 'wildcard' }
    if (token === '**') return { kind: 'deep' }
    if (/^\d/.test(token)) return { kind: 'index', index: Number(token) }
    if (token.startsWith("'")) return key(token.slice(1, -1).replaceAll("''", "'"))
    if (/^[A-Za-z_]/.test(token)) return key(token)
    const type = token.slice(1)
    if (token.startsWith('$') && isTypeName(type)) return { kind: 'type', type }
    return this.#fail(`${token} is not supported`)
  }
}

function isTypeName(name: string): name is TypeName {
  return Object.hasOwn(TYPES, name)
}

function key(name: string): Step {
  return { kind: 'key', key: name.toLowerCase() }
}

/** The steps match the end of a path. Before `**`, they match anywhere further up. */
function createPathSelector(steps: readonly Step[]): Selector {
  const deep = steps.findIndex(({ kind }) => kind === 'deep')
  const head = deep < 0 ? [] : steps.slice(0, deep)
  const tail = steps.slice(deep + 1)
  const last = steps.length - 1
  const isSpecific =
    deep < 0 &&
    steps.every((step, index) => namesPlace(step, index, last)) &&
    steps.some(({ kind }) => kind === 'key' || kind === 'type')
  return (value) => matchesPath(value) || value.aliases.some((path) => matchesPath({ ...value, path }))

  function matchesPath(value: Selected): boolean {
    if (value.isProtected && !isSpecific) return false
    const last = value.path.length - 1
    if (!matchesAt(tail, value, last - tail.length + 1)) return false
    if (deep < 0) return true
    const limit = last - tail.length - head.length // `**` stands for one value at least
    if (head.length === 0) return limit >= 0
    for (let at = -1; at <= limit; at++) if (matchesAt(head, value, at)) return true
    return false
  }
}

/** Types of plain values name no place in particular, and the types that an event consists of are none to remove. Others name a place at the start of a path. */
function namesPlace(step: Step, index: number, last: number): boolean {
  if (step.kind !== 'type') return true
  return index === 0 && !BASIC.includes(step.type) && (last > 0 || !ESSENTIAL.includes(step.type))
}

function matchesAt(steps: readonly Step[], value: Selected, at: number): boolean {
  if (at < -1) return false
  return steps.every((step, index) => matchesStep(step, value, at + index))
}

function matchesStep(step: Step, value: Selected, at: number): boolean {
  if (step.kind === 'type') return TYPES[step.type](value, at, value.path.length - 1)
  const part = value.path[at]
  if (part === undefined) return false
  if (step.kind === 'index') return part === step.index
  if (step.kind === 'key') return typeof part === 'string' && part.toLowerCase() === step.key
  return true
}
