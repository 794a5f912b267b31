/** Walk over the values of a payload, which applies the rules to them. */

import { isObject, object } from 'contract/json'
import { type ScrubBudget, Unscrubbable } from './budget.ts'
import { secretVariables } from './detectors/pairs.ts'
import {
  isFixedInSessions,
  isPairList,
  isParsed,
  isPersonal,
  isReplyAddress,
  isTagged,
  isUserField,
  type Path,
  redactableFrom,
} from './protected.ts'
import {
  applyRules,
  coversAll,
  isNeutral,
  type Redaction,
  type Remark,
  type Rule,
  redactWhole,
  remarksOf,
  replaceParts,
  replaceRedactions,
} from './redaction.ts'
import type { RuleIndex } from './rules.ts'
import type { ValueKind } from './selector.ts'

/** Levels of nesting that Relay's JSON parser accepts (`serde_json`). */
const MAX_DEPTH = 127
const MAX_REDACTIONS = 20_000 // more take longer than 50 ms
const MAX_PAIR_NAME = 128
const NO_NAMES: ReadonlySet<string> = new Set()
const QUERY_VARIABLE = /[$:@]\w/
/** One word or two: a line of code is no name. */
const PAIR_NAME = /^[\w$.:[\]-]+(?: \w+)?$/

/** Platforms for which Sentry adds the client address without being asked. */
const CLIENT_PLATFORMS: ReadonlySet<unknown> = new Set(['javascript', 'cocoa', 'objc'])
/** Objects whose `infer_ip` tells Sentry to add the client address. */
const SETTINGS: ReadonlySet<unknown> = new Set(['settings', 'ingest_settings'])
/** Stands for the client address, by which Sentry replaces it. */
const AUTO_ADDRESS = '{{auto}}'
const AUTO_ADDRESS_RULE: Rule = {
  id: '@ip:remove',
  method: { kind: 'remove' },
  needs: 0,
  minLength: 0,
  minDigits: 0,
}

/**
 * Place of the remarks about redacted values: in the root object (`event`), in each element of `items` (`container`), or nowhere (`plain`),
 * where Sentry would not read them.
 */
export type Shape = 'event' | 'container' | 'plain'

export type Tree = Record<string, unknown>

/** Object that has the remarks about the values in it, its path and its depth. The root of a `plain` payload has none. */
export type Host = { value: Tree | undefined; path: Path; depth: number }

/** Redacted value. */
export type Change = {
  host: Host
  /** Names and indexes from the host. */
  path: Path
  before: unknown
  after: unknown
  remarks: readonly Remark[]
  /** The remarks go into the `_meta` of the host. */
  isNoted: boolean
}

/** Name of a value, and the rule that redacts it because of its name. */
type Member = { name: string; rule: Rule | undefined }

const UNNAMED: Member = { name: '', rule: undefined }

/** Walks once over a parsed payload, and changes it. */
export class Walk {
  readonly changes: Change[] = []
  readonly #rules: RuleIndex
  readonly #budget: ScrubBudget
  readonly #itemType: string
  readonly #shape: Shape
  readonly #isSession: boolean
  #path: (string | number)[] = []
  #depth = 0
  #redactions = 0
  #host: Host = { value: undefined, path: [], depth: 0 }
  #isInMeta = false
  /** Innermost pair of a name and a value around the current value: the name, and the position of the value's index in the path. */
  #pair: { name: string; at: number } | undefined
  /** Returns `true` if the innermost list around the current value has one element. */
  #isAlone = false
  /** Variables of the query beside the current object that stand for secrets. */
  #secretVariables = NO_NAMES
  /** Values that rules of the operator have redacted. */
  #selectedHits = 0

  constructor(rules: RuleIndex, itemType: string, shape: Shape, budget: ScrubBudget) {
    this.#rules = rules
    this.#budget = budget
    this.#itemType = itemType
    this.#shape = shape
    this.#isSession = itemType === 'session' || itemType === 'sessions'
  }

  /** Returns the root after scrubbing. Throws `Unscrubbable`. */
  run(root: unknown): unknown {
    return this.#value(root, UNNAMED)
  }

  #value(value: unknown, member: Member): unknown {
    if (typeof value === 'string') return this.#text(value, member)
    if (typeof value === 'number') return this.#number(value, String(value), member)
    if (typeof value !== 'object' || value === null) return value
    if (JSON.isRawJSON(value)) return this.#number(value, value.rawJSON, member)
    return this.#container(value as Tree | unknown[], member)
  }

  #container(value: Tree | unknown[], member: Member): unknown {
    const isAttribute = !Array.isArray(value) && this.#isAttribute()
    const { name, rule } = isAttribute ? UNNAMED : member
    const isMapping = !Array.isArray(value) || isPairs(this.#path)
    const selected = this.#selectedRule(isMapping ? 'object' : 'array', name)
    const whole = selected ?? this.#ruleByName(rule)
    if (whole && (selected || !this.#mayBeSelected())) return this.#removed(value, whole)
    if (++this.#depth > MAX_DEPTH) throw new Unscrubbable(`it has more than ${MAX_DEPTH} levels`)
    const [changes, selectedHits] = [this.changes.length, this.#selectedHits]
    this.#members(value, whole ? { name: '', rule: whole } : isAttribute ? member : undefined)
    this.#depth--
    if (!whole || this.#selectedHits > selectedHits) return value
    this.changes.length = changes // the rules of the operator redact nothing in it
    return this.#removed(value, whole)
  }

  /** Walks over the values of an object or array. The rule of `inherited` redacts each of them. */
  #members(value: Tree | unknown[], inherited: Member | undefined): void {
    if (Array.isArray(value)) this.#array(value, inherited)
    else if (this.#hasRemarks()) this.#hostOfRemarks(value)
    else this.#object(value, inherited)
  }

  /** Returns `true` if the remarks about values of the current object go into its own `_meta`. */
  #hasRemarks(): boolean {
    if (this.#shape === 'event') return this.#depth === 1
    return this.#shape === 'container' && this.#depth === 3 && this.#path[0] === 'items'
  }

  /** Walks over an object that has remarks. Paths begin at it. */
  #hostOfRemarks(value: Tree): void {
    const [path, host] = [this.#path, this.#host]
    this.#path = []
    this.#host = { value, path: [...path], depth: this.#depth }
    this.#object(value, undefined)
    if (this.#rules.isStrict && this.#shape === 'event' && this.#itemType !== 'span') hideClientAddress(value)
    this.#path = path
    this.#host = host
  }

  /**
   * Walks over an object. `inherited` stands for the members, except for the type and unit of an attribute. A member such as `name` or `key`
   * names the `value` beside it, but not at the root: that is the name of a metric.
   */
  #object(value: Tree, inherited: Member | undefined): void {
    const isAttribute = this.#isAttribute()
    const mayName = this.#depth > Math.max(1, this.#host.depth)
    let named = UNNAMED
    let variables = NO_NAMES
    const names = Object.keys(value)
    for (const name of names) {
      const { kind } = this.#rules.readName(name)
      const text = value[name]
      if (typeof text !== 'string') continue
      if (kind === 'naming' && mayName && !named.rule) named = this.#memberNamedBy(name, text)
      if (kind === 'query' && QUERY_VARIABLE.test(text)) variables = this.#variablesIn(text)
    }
    for (const known of names) {
      const name = this.#nameOfMember(known)
      const { kind } = this.#rules.readName(name)
      const isMeta = name === '_meta' && this.#depth === this.#host.depth
      if (isMeta) this.#isInMeta = true
      const own = kind === 'named' && named.rule ? named : this.#member(name)
      const isInherited = inherited && !(isAttribute && (name === 'type' || name === 'unit'))
      const member = isInherited ? { ...inherited, name: inherited.name || name } : own
      const outer = this.#secretVariables
      if (kind === 'variables') this.#secretVariables = variables
      this.#path.push(name)
      const before = value[known]
      const after = this.#value(before, member)
      if (name !== known) delete value[known]
      if (after !== before || name !== known) value[name] = after
      this.#path.pop()
      this.#secretVariables = outer
      if (isMeta) this.#isInMeta = false
    }
  }

  /** Returns the member for the values beside a text that names them: the name of a secret, or the type of an input field. */
  #memberNamedBy(name: string, text: string): Member {
    if (name.toLowerCase() !== 'type') return this.#pairMember(text)
    return name === 'type' && text === 'password' ? this.#member(text) : UNNAMED
  }

  /** Returns the variables of a query that stand for secrets. */
  #variablesIn(query: string): ReadonlySet<string> {
    this.#budget.charge(query.length)
    return secretVariables(query)
  }

  /** Below `_meta`, names are those of other values, whose originals are in `val`. */
  #member(name: string): Member {
    const known = this.#secretVariables.has(name) ? 'password' : name
    if (!this.#isInMeta) return { name, rule: this.#rules.readName(known).rule }
    const original = this.#path.at(-2)
    const isOriginal = name === 'val' && this.#path.at(-1) === '' && typeof original === 'string'
    return { name, rule: isOriginal ? this.#rules.readName(original).rule : undefined }
  }

  /** Returns the member that a text names. */
  #pairMember(name: string): Member {
    return name.length <= MAX_PAIR_NAME && PAIR_NAME.test(name) ? this.#member(name) : UNNAMED
  }

  /**
   * Walks over an array. An even element may be the name of the next one, as in pairs and lists of headers, and an option like `--token`
   * names the next one anywhere.
   */
  #array(value: unknown[], inherited: Member | undefined): void {
    const outerPair = this.#pair
    let member = UNNAMED
    for (const [index, before] of value.entries()) {
      const isNamed = member.name !== ''
      if (isNamed && index === 1) this.#pair = { name: member.name, at: this.#path.length }
      this.#path.push(index)
      this.#isAlone = value.length === 1
      const isPairName =
        inherited && index === 0 && typeof before === 'string' && isPairList(this.#path.slice(0, -2))
      const ruled = inherited ? { ...member, rule: inherited.rule } : member
      const after = this.#value(before, isNamed ? ruled : isPairName ? UNNAMED : (inherited ?? UNNAMED))
      if (after !== before) value[index] = after
      this.#path.pop()
      this.#pair = outerPair
      const isName = typeof before === 'string' && (index % 2 === 0 || before.startsWith('-'))
      member = isName && typeof after === 'string' ? this.#pairMember(after) : UNNAMED
    }
  }

  #number(value: unknown, source: string, { name, rule }: Member): unknown {
    const whole = this.#selectedRule('number', name) ?? this.#ruleByName(rule) ?? this.#numberRule(source)
    return whole ? this.#removed(value, whole) : value
  }

  #numberRule(source: string): Rule | undefined {
    if (source.length < 13 || !/^\d+$/.test(source)) return undefined
    if (this.#isFixed() || redactableFrom(this.#path, source) > 0) return undefined
    return this.#rules.numberRules.find(({ find }) => find?.(source).length)
  }

  /** Returns the rule of the operator that redacts a value as a whole, whatever it contains. A general selector reaches only values that Sentry can do without. */
  #selectedRule(kind: ValueKind, name: string): Rule | undefined {
    if (!this.#rules.selectsWhole || !this.#mayBeSelected()) return undefined
    const path = this.#path
    const isNeeded = redactableFrom(path, '') > 0
    const isImpersonal = this.#shape !== 'plain' && !isPersonal(path)
    const whole = this.#selectedRules(kind, isNeeded || isImpersonal).find(({ isWhole }) => isWhole)
    if (whole) return whole
    return this.#selectedRules(kind, isNeeded || (isImpersonal && !isTagged(path))).find(
      ({ isWhole, matchesName }) => !isWhole && matchesName?.(name),
    )
  }

  /** Returns the rules of the operator that search the text at the current path. Rules for names do not search the name in a pair. */
  #partRules(): Rule[] {
    const isProtected = redactableFrom(this.#path, '') > 0
    const isPairName = this.#path.at(-1) === 0 && !this.#isAlone
    return this.#selectedRules('string', isProtected).filter(
      ({ isWhole, matchesName }) => !isWhole && !(matchesName && isPairName),
    )
  }

  /** Returns the rule that redacts a value because of its name, unless Sentry needs the value. */
  #ruleByName(rule: Rule | undefined): Rule | undefined {
    return rule && !this.#isFixed() && redactableFrom(this.#path, '') === 0 ? rule : undefined
  }

  #isFixed(): boolean {
    return this.#isSession && isFixedInSessions(this.#path)
  }

  /** Returns `true` if the current object is an attribute of an element of a container. */
  #isAttribute(): boolean {
    return this.#shape === 'container' && this.#path.length === 2 && this.#path[0] === 'attributes'
  }

  #mayBeSelected(): boolean {
    return this.#rules.selected.length > 0 && !this.#isInMeta
  }

  #selectedRules(kind: ValueKind, isProtected: boolean): Rule[] {
    const path = this.#path
    const { name, at } = this.#pair ?? { name: '', at: -1 }
    const aliases = at < 1 ? [] : [path.with(at, name)]
    if (typeof path[at - 1] === 'number') aliases.push(path.toSpliced(at - 1, 2, name))
    const value = { path, aliases, kind, itemType: this.#itemType, isProtected }
    return this.#rules.selected.flatMap(({ selector, rules }) => (selector(value) ? rules : []))
  }

  #removed(before: unknown, rule: Rule): null {
    this.#add(before, null, [{ rule }], [[rule.id, 'x']])
    return null
  }

  #text(text: string, { name, rule }: Member): string | null {
    if (this.#rules.isStrict && !this.#isInMeta) {
      if (this.#path.at(-1) === 'infer_ip' && SETTINGS.has(this.#path.at(-2))) return 'never'
      if (text === AUTO_ADDRESS) return this.#removed(text, AUTO_ADDRESS_RULE)
    }
    const selected = this.#selectedRule('string', name)
    const whole = selected ?? this.#ruleByName(rule)
    const mayBeSelected = this.#mayBeSelected()
    if (!whole && !mayBeSelected && !this.#rules.mayMatch(text)) return text
    this.#budget.charge(text.length)
    if (isNeutral(text) || this.#isRuleName(text)) return text
    const partRules = mayBeSelected && !selected ? this.#partRules() : []
    const parts = partRules.length > 0 ? applyRules(text, () => partRules, 0) : []
    if (whole?.method.kind === 'remove' && !coversAll(text, parts)) return this.#removed(text, whole)
    const redactions = replaceRedactions(text, this.#redactionsOf(text, name, whole), parts)
    const [first] = redactions
    if (!first) return text
    if (isParsed(this.#path)) return this.#removed(text, first.rule)
    const builtIn = redactions.find((each) => !this.#rules.isSelected(each.rule))
    return builtIn && isUserField(this.#path)
      ? this.#withoutUser(text, builtIn.rule)
      : this.#redacted(text, redactions)
  }

  #redacted(text: string, redactions: readonly Redaction[]): string {
    const after = replaceParts(text, redactions)
    this.#add(text, after, redactions, remarksOf(text, redactions))
    return after
  }

  /** Redacts an ID, name or address of a user as a whole. The pseudonym of an address does not depend on its case. */
  #withoutUser(text: string, found: Rule): string | null {
    const method = this.#rules.users
    const rule = { ...found, id: found.id.replace(/:\w+$/, `:${method.kind}`), method }
    if (method.kind === 'remove') return this.#removed(text, rule)
    const [pseudonym] = redactWhole(text.trim().normalize('NFC').toLowerCase(), rule)
    return pseudonym ? this.#redacted(text, [{ ...pseudonym, end: text.length }]) : text
  }

  /** Returns what `whole`, or else the rules for every value, redact in a text. */
  #redactionsOf(text: string, name: string, whole: Rule | undefined): Redaction[] {
    if (whole) return redactWhole(text, whole)
    const from = redactableFrom(this.#path, text)
    if (from >= text.length || this.#isFixed()) return []
    const keepsAddress = !this.#rules.isStrict && isReplyAddress(this.#path, this.#itemType)
    const rulesFor = (searched: string) => {
      this.#budget.charge(searched.length)
      return this.#rules
        .rulesForText(searched)
        .filter(({ id, exempt }) => !exempt?.test(name) && !(keepsAddress && id.startsWith('@email')))
    }
    return applyRules(text, rulesFor, from)
  }

  /** Names of rules look like secrets, as `@password:filter` does. */
  #isRuleName(text: string): boolean {
    return this.#isInMeta && this.#path.at(-3) === 'rem' && /^@[a-z]+:[a-z]+$/.test(text)
  }

  /** Returns the name of a member. What rules find in it is redacted, without a remark. */
  #nameOfMember(name: string): string {
    if (!this.#rules.readName(name).isSearched) return name
    this.#budget.charge(name.length)
    const redactions = applyRules(name, this.#rules.rulesForText, 0)
    if (redactions.length === 0) return name
    const after = replaceParts(name, redactions)
    this.#add(name, after, redactions, remarksOf(name, redactions), false)
    return after
  }

  #add(
    before: unknown,
    after: unknown,
    redactions: readonly { rule: Rule }[],
    remarks: readonly Remark[],
    isNoted = this.#host.value !== undefined && !this.#isInMeta,
  ): void {
    this.#redactions += redactions.length
    if (this.#redactions > MAX_REDACTIONS)
      throw new Unscrubbable(`more than ${MAX_REDACTIONS} values are to be redacted`)
    for (const { rule } of redactions) if (this.#rules.isSelected(rule)) this.#selectedHits++
    this.changes.push({ host: this.#host, path: [...this.#path], before, after, remarks, isNoted })
  }
}

/** Adds the setting that keeps Sentry from adding the client address, where an SDK may ask for it. */
function hideClientAddress(event: Tree): void {
  const { sdk, platform } = event
  if (!isObject(sdk) && !CLIENT_PLATFORMS.has(platform)) return
  event.sdk = { ...object(sdk), settings: { ...object(object(sdk).settings), infer_ip: 'never' } }
}

/** Returns `true` if an array stands in the place of an object: a list of pairs, or a pair in it. */
function isPairs(path: Path): boolean {
  return isPairList(path) || isPairList(path.slice(0, -1))
}
