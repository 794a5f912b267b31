/** Sets of rules, which of them may apply to a value, and the built-in ones, which a file of rules may name, too (relay-pii/src/builtin.rs). */

import { CHARACTERS, classify, type TextClasses } from './character-classes.ts'
import { DETECTORS, type DetectedType } from './detectors/detectors.ts'
import { isCookieName, isSecretName } from './detectors/secret-names.ts'
import type { Method, Rule } from './redaction.ts'
import type { Selector } from './selector.ts'

export type RuleSet = {
  /** Rules for every value. */
  everywhere: readonly Rule[]
  /** Rules for the values that a selector matches. */
  selected: readonly { selector: Selector; rules: readonly Rule[] }[]
  /** `strict` also redacts the address for replies in feedback, and keeps Sentry from adding the client address. */
  level: 'default' | 'strict'
  /** Method for IDs, names and addresses of users in which a rule finds something: a constant would make all users one. */
  users: { kind: 'remove' } | { kind: 'hash'; key: string }
}

const MAX_NAMES = 2000
const MAX_NAME_LENGTH = 64

/** Members that name the value beside them, and members with such a value. */
const NAMING =
  /^(?:name|key|k|id|field|label|header|attribute|param|parameter|property|variable|option|type)$/i
const NAMED = /^(?:value|v|val|(?:new|old)_?value)$/i
/** Members with a query, and members with the values of its variables. */
const QUERY = /^(?:query|mutation|document|sql|statement)$/i
const VARIABLES = /^(?:variables|bindings|replacements|params|parameters)$/i

/** Meaning of the name of a member. */
type KnownName = {
  /** Rule that redacts its value. */
  rule: Rule | undefined
  kind: 'naming' | 'named' | 'query' | 'variables' | 'other'
  /** A rule may find something in the name. */
  isSearched: boolean
}

function kindOf(name: string): KnownName['kind'] {
  if (NAMING.test(name)) return 'naming'
  if (NAMED.test(name)) return 'named'
  if (QUERY.test(name)) return 'query'
  return VARIABLES.test(name) ? 'variables' : 'other'
}

/** Finds the rules that may apply to a value. Remembers the meaning of names, since SDKs send the same names again and again. */
export class RuleIndex {
  readonly selected: RuleSet['selected']
  readonly isStrict: boolean
  readonly users: RuleSet['users']
  readonly numberRules: readonly Rule[]
  /** A selected rule may redact a value as a whole. */
  readonly selectsWhole: boolean
  readonly #textRules: readonly Rule[]
  readonly #nameRules: readonly Rule[]
  readonly #selectedRules: ReadonlySet<Rule>
  readonly #names = new Map<string, KnownName>()
  /** Classes of characters of which a text has one if a rule finds something in it. */
  readonly #needs: number

  constructor({ everywhere, selected, level, users }: RuleSet) {
    this.isStrict = level === 'strict'
    this.users = users
    this.selected = selected
    this.#selectedRules = new Set(selected.flatMap(({ rules }) => rules))
    this.selectsWhole = [...this.#selectedRules].some(({ isWhole, matchesName }) => isWhole || matchesName)
    this.#needs = everywhere.reduce<number>((needs, rule) => needs | rule.needs, CHARACTERS.ESCAPE)
    this.#textRules = everywhere.filter(({ find }) => find)
    this.numberRules = everywhere.filter(({ findsNumbers }) => findsNumbers)
    this.#nameRules = everywhere.filter(({ matchesName }) => matchesName)
  }

  /** Returns `true` if a rule is one of the operator's. */
  isSelected(rule: Rule): boolean {
    return this.#selectedRules.has(rule)
  }

  /** Returns `true` if a rule may find something in a text. */
  mayMatch(text: string): boolean {
    const classes = classify(text)
    if ((classes.mask & this.#needs) === 0) return false
    if (classes.mask & CHARACTERS.ESCAPE) return true
    for (const rule of this.#textRules) if (isCandidate(rule, text, classes)) return true
    return false
  }

  /** Returns the rules that may find something in a text. */
  readonly rulesForText = (text: string): Rule[] => {
    const classes = classify(text)
    return this.#textRules.filter((rule) => isCandidate(rule, text, classes))
  }

  /** Returns the meaning of the name of a member. */
  readName(name: string): KnownName {
    const known = this.#names.get(name)
    if (known) return known
    const rule = this.#nameRules.find(({ matchesName }) => matchesName?.(name))
    const read = { rule, kind: kindOf(name), isSearched: this.mayMatch(name) }
    if (name.length > MAX_NAME_LENGTH) return read
    if (this.#names.size >= MAX_NAMES) this.#names.clear()
    this.#names.set(name, read)
    return read
  }
}

function isCandidate(rule: Rule, { length }: string, { mask, digits }: TextClasses): boolean {
  return (mask & rule.needs) !== 0 && length >= rule.minLength && digits >= rule.minDigits
}

/** `password` is Relay's type: secrets by the name of a member, or by a name in a text. */
const PASSWORD_PARTS = ['secretname', 'pairs', 'bearer'] as const

type PartType = DetectedType | 'cookies' | 'secretname'
export type RuleType = Exclude<PartType, 'secretname' | 'pairs'> | 'password'

export function isRuleType(name: string): name is RuleType {
  return name === 'password' || name === 'cookies' || (name !== 'pairs' && Object.hasOwn(DETECTORS, name))
}

/** Values that look like an address: versions of browsers. */
const VERSIONS = /user[-_.]?agent|version|^raw_description$/i

/** Creates the rules of a type. */
export function createRules(type: RuleType, id: string, method: Method): Rule[] {
  const parts = type === 'password' ? PASSWORD_PARTS : [type]
  return parts.map((part) => createRule(part, id, method))
}

function createRule(type: PartType, id: string, method: Method): Rule {
  if (type === 'cookies' || type === 'secretname') {
    const matchesName = type === 'cookies' ? isCookieName : isSecretName
    return { id, method, needs: 0, minLength: 0, minDigits: 0, matchesName }
  }
  const rule: Rule = { id, method, ...DETECTORS[type] }
  if (type === 'creditcard') rule.findsNumbers = true
  if (type === 'anything') rule.isWhole = true
  if (type === 'ip') rule.exempt = VERSIONS
  return rule
}

const FILTERED = '[Filtered]'

/** Built-in rules by name: the text of the method `replace`, the method without one, and the type if the name is another one. */
const BUILT_IN: Readonly<Record<string, { text?: string; method?: Method['kind']; type?: RuleType }>> = {
  anything: {},
  apikey: { text: '[key]' },
  bearer: {},
  cookies: {},
  creditcard: { text: '[creditcard]' },
  email: { text: '[email]' },
  iban: { text: '[iban]' },
  imei: { text: '[imei]' },
  ip: { text: '[ip]' },
  jwt: { text: '[jwt]' },
  mac: { text: '[mac]', method: 'mask' },
  password: { text: '[password]', method: 'remove' },
  pemkey: { text: '[pemkey]' },
  urlauth: { text: '[auth]', type: 'url_auth' },
  userpath: { text: '[user]' },
  usssn: { text: '[us-ssn]', method: 'mask', type: 'us_ssn' },
  uuid: { text: '[uuid]', method: 'mask' },
}
const COLLECTIONS: Readonly<Record<string, readonly string[]>> = {
  '@common': '@iban @ip @email @creditcard @pemkey @urlauth @userpath @password @usssn'.split(' '),
  '@common:filter':
    '@creditcard:filter @iban:filter @pemkey:filter @urlauth:filter @userpath:filter @password:filter @usssn:filter'.split(
      ' ',
    ),
}

/** Returns the rules of a built-in name, like `@email` or `@email:mask`; `undefined` for an unknown one. */
export function builtInRules(name: string, hashKey: string): Rule[] | undefined {
  const collection = COLLECTIONS[name]
  if (collection) return collection.flatMap((each) => builtInRules(each, hashKey) ?? [])
  const [, typeName = '', given] = /^@([a-z]+)(?::([a-z]+))?$/.exec(name) ?? []
  const builtIn = Object.hasOwn(BUILT_IN, typeName) ? BUILT_IN[typeName] : undefined
  const type = builtIn?.type ?? typeName
  if (!builtIn || !isRuleType(type)) return undefined
  const kind = given ?? builtIn.method ?? 'replace'
  const method = methodOf(kind, builtIn.text, hashKey)
  return method && createRules(type, `@${typeName}:${kind}`, method)
}

function methodOf(kind: string, text: string | undefined, hashKey: string): Method | undefined {
  if (kind === 'filter') return { kind: 'replace', text: FILTERED }
  if (kind === 'replace') return { kind, text: text ?? FILTERED }
  if (kind === 'hash') return { kind, key: hashKey }
  return kind === 'remove' || kind === 'mask' ? { kind } : undefined
}

/** Order matters: what one rule has redacted is not searched by the next. */
const DEFAULT_NAMES = [
  '@cookies:filter',
  '@pemkey:filter',
  '@password:filter',
  '@urlauth:filter',
  '@jwt:replace',
  '@apikey:replace',
  '@email:replace',
  '@creditcard:replace',
  '@iban:replace',
  '@usssn:replace',
]
const STRICT_NAMES = [...DEFAULT_NAMES, '@mac:replace', '@ip:replace', '@uuid:replace', '@userpath:replace']

/** Returns the rules of `SCRUB=default` or `SCRUB=strict`. */
export function builtInRuleSet(
  level: RuleSet['level'],
  users: RuleSet['users'] = { kind: 'remove' },
): RuleSet {
  const names = level === 'strict' ? STRICT_NAMES : DEFAULT_NAMES
  return { everywhere: names.flatMap((name) => builtInRules(name, '') ?? []), selected: [], level, users }
}
