/** Walk over a JSON text that applies rules to its values. */

import type { ScrubBudget } from './budget.ts'
import { secretVariables } from './detectors/pairs.ts'
import { Edits } from './edits.ts'
import { CHARACTERS, JsonScanner, MAX_DEPTH, type StringToken, Unscrubbable } from './json-scanner.ts'
import { type Note, type Shape, writeMeta } from './meta.ts'
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
  countCharacters,
  coversAll,
  isNeutral,
  type Redaction,
  type Rule,
  redactWhole,
  remarksOf,
  replaceRedactions,
} from './redaction.ts'
import type { RuleIndex } from './rule-index.ts'
import type { ValueKind } from './selector.ts'

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const STRUCTURE = new Set([OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET, COMMA, COLON])
const MAX_PAIR_NAME = 128 // bytes
/** Members that name the value beside them, and members with such a value. */
const NAMING = /^(?:name|key|k|id|field|label|header|attribute|param|parameter|property|variable|option)$/i
const NAMED = /^(?:value|v|val|(?:new|old)_?value)$/i
const MAX_AHEAD = 8 // members that are read ahead
/** Members with a query, and members with the values of its variables. */
const QUERY = /^(?:query|mutation|document|sql|statement)$/i
const VARIABLES = /^(?:variables|bindings|replacements|params|parameters)$/i
const MAX_VARIABLES_BYTES = 64 * 1024
const NO_NAMES: ReadonlySet<string> = new Set()
/** One word or two: a line of code is no name. */
const PAIR_NAME = /^[\w$.:[\]-]+(?: \w+)?$/
const MAX_META_BYTES = 256 * 1024
const MAX_EVENT_BYTES = 1024 * 1024 // Relay rejects larger ones: remarks are left out before they make one too large

/** Platforms for which Sentry adds the client address without being asked. */
const CLIENT_PLATFORMS = new Set(['javascript', 'cocoa', 'objc'])
const NEVER_INFER = '{"infer_ip":"never"}'
/** Rule for `{{auto}}`, which Sentry replaces by the client address. */
const AUTO_ADDRESS: Rule = {
  id: '@ip:remove',
  method: { kind: 'remove' },
  needs: 0,
  minLength: 0,
  minDigits: 0,
}

/** Name of a value, and the rule that redacts it because of its name. */
type Member = { name: string; rule: Rule | undefined }

const UNNAMED: Member = { name: '', rule: undefined }

export class Walk {
  readonly edits = new Edits()
  readonly hits = new Map<string, number>()
  readonly #rules: RuleIndex
  readonly #budget: ScrubBudget
  readonly #payload: Buffer
  readonly #itemType: string
  readonly #shape: Shape
  readonly #isSession: boolean
  readonly #scanner: JsonScanner
  #path: (string | number)[] = []
  #depth = 0
  #hostDepth = 0
  #muted = 0
  #notes: Note[] = []
  #isInMeta = false
  /** Innermost pair of a name and a value around the current value: the name, and the position of the value's index in the path. */
  #pair: { name: string; at: number } | undefined
  /** Variables of the query beside the current object that stand for secrets. */
  #secretVariables = NO_NAMES
  /** Values that rules of the operator have redacted. */
  #selectedHits = 0
  /** Tells if the setting that keeps Sentry from adding the client address is in the item. */
  #infersNoAddress = false
  #isOfClient = false
  #metaBytes: number

  constructor(rules: RuleIndex, payload: Buffer, itemType: string, shape: Shape, budget: ScrubBudget) {
    this.#rules = rules
    this.#budget = budget
    this.#payload = payload
    this.#itemType = itemType
    this.#shape = shape
    this.#isSession = itemType === 'session' || itemType === 'sessions'
    this.#scanner = new JsonScanner(payload.toString('latin1'))
    this.#metaBytes = Math.min(
      MAX_META_BYTES,
      shape === 'container' ? Infinity : MAX_EVENT_BYTES - payload.length,
    )
  }

  run(): void {
    const scanner = this.#scanner
    this.#value(UNNAMED)
    if (scanner.next() !== -1) throw new Unscrubbable(`something follows the value at ${scanner.at}`)
  }

  #value(member: Member): void {
    const scanner = this.#scanner
    const code = scanner.next()
    if (code === QUOTE) this.#string(scanner.string(), member)
    else if (code === OPEN_BRACE) this.#container('object', member)
    else if (code === OPEN_BRACKET) this.#container('array', member)
    else this.#scalar(member)
  }

  #container(kind: 'object' | 'array', member: Member): void {
    if (++this.#depth > MAX_DEPTH) throw new Unscrubbable(`it has more than ${MAX_DEPTH} levels`)
    const start = this.#scanner.at
    const isAttribute = kind === 'object' && this.#shape === 'container' && isAttributePath(this.#path)
    const { name, rule } = isAttribute ? UNNAMED : member
    const selected = this.#selectedRule(isPairs(this.#path) ? 'object' : kind, name)
    const whole = selected ?? this.#ruleByName(rule)
    if (whole && (selected || !this.#mayBeSelected())) {
      this.#muted++
      this.#members(kind, undefined)
      this.#muted--
      this.#remove(start, this.#scanner.at, whole)
    } else if (whole) this.#redactMembers(kind, start, whole)
    else this.#members(kind, isAttribute ? member : undefined)
    this.#depth--
  }

  /** Walks over the values of an object or array. The rule of `inherited` redacts each of them. */
  #members(kind: 'object' | 'array', inherited: Member | undefined): void {
    if (kind === 'array') this.#array(inherited)
    else if (this.#isHost()) this.#host()
    else this.#object(inherited)
  }

  /** Removes a container, unless rules of the operator redact values within it: then `rule` redacts each of the others. */
  #redactMembers(kind: 'object' | 'array', start: number, rule: Rule): void {
    const { count } = this.edits
    const notes = this.#notes.length
    const hits = [...this.hits]
    const selectedHits = this.#selectedHits
    this.#members(kind, { name: '', rule })
    if (this.#selectedHits > selectedHits) return
    this.edits.truncate(count)
    this.#notes.length = notes
    this.hits.clear()
    for (const [id, found] of hits) this.hits.set(id, found)
    this.#remove(start, this.#scanner.at, rule)
  }

  /** Tells if remarks about the values of the object that begins here stand in it. */
  #isHost(): boolean {
    if (this.#shape === 'event') return this.#depth === 1
    return this.#shape === 'container' && this.#depth === 3 && this.#path[0] === 'items'
  }

  /** Walks over an object and adds the remarks about its values. Paths begin at the object. */
  #host(): void {
    const outer = this.#path
    this.#path = []
    this.#hostDepth = this.#depth
    const firstEdit = this.edits.count
    const meta = this.#object(undefined)
    const end = this.#scanner.at - 1
    if (this.#notes.length > 0) this.#writeMeta(firstEdit, end, meta)
    if (this.#needsAddressSetting() && this.#isOfClient)
      this.edits.insert(end, `,"sdk":{"settings":${NEVER_INFER}}`, '}')
    this.#notes = []
    this.#path = outer
    this.#hostDepth = 0
  }

  /** `known` is the place of the `_meta` that the object has. */
  #writeMeta(firstEdit: number, end: number, known: readonly [start: number, end: number] | undefined): void {
    const existing = known && this.edits.read(this.#payload, known[0], known[1], firstEdit)
    const text = writeMeta(this.#notes, existing)
    this.#metaBytes -= Buffer.byteLength(text) + 10 - (existing?.length ?? 0)
    if (this.#metaBytes < 0) return
    if (known) this.edits.replace(known[0], known[1], text)
    else this.edits.add(end, end + 1, `,"_meta":${text}}`)
  }

  /**
   * Walks over an object. `inherited` stands for the members, except for the type and unit of an attribute. A member such as `name` or `key`
   * names the `value` beside it, but not at the root: that is the name of a metric. Returns the place of `_meta`, the last if there are several.
   */
  #object(inherited: Member | undefined): readonly [start: number, end: number] | undefined {
    const scanner = this.#scanner
    const isAttribute = this.#shape === 'container' && isAttributePath(this.#path)
    const place = this.#path[0] === 'sdk' ? this.#path.join('.') : ''
    if (place === 'sdk') this.#infersNoAddress = false
    let meta: readonly [number, number] | undefined
    let named = UNNAMED
    let variables = NO_NAMES
    const mayName = this.#depth > Math.max(1, this.#hostDepth)
    scanner.at++
    if (scanner.next() === CLOSE_BRACE) {
      scanner.at++
      return undefined
    }
    for (;;) {
      scanner.next()
      const name = this.#memberName(scanner.string())
      scanner.expect(COLON)
      const isMeta = name === '_meta' && this.#depth === this.#hostDepth
      if (isMeta) this.#isInMeta = true
      const isInherited = inherited && !(isAttribute && (name === 'type' || name === 'unit'))
      const isNamed = mayName && NAMED.test(name)
      if (isNamed && !named.rule) named = this.#nameAhead()
      const own = isNamed && named.rule ? named : this.#member(name)
      const member = isInherited ? { ...inherited, name: inherited.name || name } : own
      this.#path.push(name)
      const isText = scanner.next() === QUOTE
      const start = scanner.at
      const firstEdit = this.edits.count
      const outer = this.#secretVariables
      if (VARIABLES.test(name))
        this.#secretVariables = variables.size > 0 ? variables : this.#variablesAhead()
      this.#value(member)
      this.#secretVariables = outer
      this.#path.pop()
      if (isText && mayName) {
        if (NAMING.test(name)) named = this.#pairMember(start, scanner.at, firstEdit)
        else if (name === 'type') named = this.#passwordField(start, scanner.at) ?? named
      }
      if (isText && QUERY.test(name)) variables = this.#variablesOf(start, scanner.at)
      if (isMeta) {
        meta = [start, scanner.at]
        this.#isInMeta = false
      }
      if (!this.#endsList(CLOSE_BRACE)) continue
      if (place !== '') this.#addAddressSetting(place)
      return meta
    }
  }

  /** Returns the member that a text after the current value names, as in `{"value":"x","name":"password"}`. */
  #nameAhead(): Member {
    let named = UNNAMED
    this.#lookAhead((name, start, end) => {
      if (NAMING.test(name)) named = this.#pairMember(start, end, this.edits.count)
      else if (name === 'type') named = this.#passwordField(start, end) ?? named
      return named.rule !== undefined
    })
    return named
  }

  /** Returns the variables of a query after their values. */
  #variablesAhead(): ReadonlySet<string> {
    let variables = NO_NAMES
    this.#lookAhead((name, start, end) => {
      if (QUERY.test(name)) variables = this.#variablesOf(start, end)
      return variables.size > 0
    })
    return variables
  }

  /** Calls `look` with the texts after the current value in the same object, until it returns `true`. Returns to the current value. */
  #lookAhead(look: (name: string, start: number, end: number) => boolean): void {
    const scanner = this.#scanner
    const { at } = scanner
    scanner.next()
    for (let seen = 0; seen < MAX_AHEAD && this.#skip(at + MAX_VARIABLES_BYTES); seen++) {
      if (scanner.next() !== COMMA) break
      scanner.at++
      scanner.next()
      const token = scanner.string()
      const name = this.#decode(token.start, token.end)
      scanner.expect(COLON)
      if (scanner.next() !== QUOTE) continue
      const start = scanner.at
      const { end } = scanner.string()
      if (look(name, start, end)) break
      scanner.at = start
    }
    this.#budget.charge(scanner.at - at)
    scanner.at = at
  }

  /** Skips a value. Returns `false` for one that does not begin, or contains a value that does not begin, before a position. */
  #skip(limit: number): boolean {
    const scanner = this.#scanner
    let depth = 0
    do {
      const code = scanner.next()
      if (code === -1 || scanner.at >= limit) return false
      if (code === QUOTE) scanner.string()
      else if (code === OPEN_BRACE || code === OPEN_BRACKET) depth++
      else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth--
      if (code !== QUOTE && (depth > 0 || STRUCTURE.has(code))) scanner.at++
      else if (code !== QUOTE) scanner.scalar()
    } while (depth > 0)
    return true
  }

  /** Returns the member for the value of an input field for a password. */
  #passwordField(start: number, end: number): Member | undefined {
    return this.#scanner.text.slice(start, end) === '"password"' ? this.#member('password') : undefined
  }

  #variablesOf(start: number, end: number): ReadonlySet<string> {
    const text = this.#scanner.text.slice(start, end)
    if (this.#muted > 0 || !/[$:@]\w/.test(text)) return NO_NAMES
    this.#budget.charge(end - start)
    return secretVariables(this.#decode(start, end))
  }

  /** Adds the setting to an object of the SDK that ends here and has none. */
  #addAddressSetting(place: string): void {
    const missing = { sdk: `,"settings":${NEVER_INFER}`, 'sdk.settings': `,${NEVER_INFER.slice(1, -1)}` }[
      place
    ]
    if (!missing || !this.#needsAddressSetting()) return
    this.edits.insert(this.#scanner.at - 1, missing, '}')
    this.#infersNoAddress = true
  }

  #needsAddressSetting(): boolean {
    return (
      this.#rules.visitors.hidesAddress &&
      this.#shape === 'event' &&
      this.#itemType !== 'span' &&
      this.#muted === 0 &&
      !this.#infersNoAddress
    )
  }

  /** Changes a text by which an SDK asks Sentry for the client address. */
  #hidesAddress({ start, end, mask }: StringToken): boolean {
    if (!this.#rules.visitors.hidesAddress || this.#isInMeta || end - start > 64) return false
    const isSetting = this.#path.at(-1) === 'infer_ip'
    const isPlatform = this.#path.length === 1 && this.#path[0] === 'platform'
    if (!isSetting && !isPlatform && this.#scanner.text[start + 1] !== '{' && !(mask & CHARACTERS.ESCAPE))
      return false
    const text = this.#decode(start, end, mask)
    if (isPlatform) this.#isOfClient = CLIENT_PLATFORMS.has(text)
    if (isSetting && ['settings', 'ingest_settings'].includes(String(this.#path.at(-2)))) {
      this.#infersNoAddress = true
      if (text !== 'never') this.edits.add(start, end, '"never"')
      return true
    }
    if (text !== '{{auto}}') return false
    this.#remove(start, end, AUTO_ADDRESS)
    return true
  }

  /** Below `_meta`, names are those of other values, whose originals are in `val`. */
  #member(name: string): Member {
    if (this.#muted > 0) return UNNAMED
    const known = this.#secretVariables.has(name) ? 'password' : name
    if (!this.#isInMeta) return { name, rule: this.#rules.ruleForName(known) }
    const original = this.#path.at(-2)
    const isOriginal = name === 'val' && this.#path.at(-1) === '' && typeof original === 'string'
    return { name, rule: isOriginal ? this.#rules.ruleForName(original) : undefined }
  }

  /**
   * Walks over an array. An even element may be the name of the next one, as in pairs and lists of headers, and an option like `--token`
   * names the next one anywhere.
   */
  #array(inherited: Member | undefined): void {
    const scanner = this.#scanner
    scanner.at++
    if (scanner.next() === CLOSE_BRACKET) {
      scanner.at++
      return
    }
    const outerPair = this.#pair
    let member = UNNAMED
    for (let index = 0; ; index++) {
      const isText = scanner.next() === QUOTE
      const start = scanner.at
      const firstEdit = this.edits.count
      const isNamed = member.name !== ''
      if (isNamed && index === 1) this.#pair = { name: member.name, at: this.#path.length }
      this.#path.push(index)
      const isPairName = inherited && index === 0 && isText && isPairList(this.#path.slice(0, -2))
      if (isNamed) this.#value({ ...member, ...(inherited && { rule: inherited.rule }) })
      else this.#value(isPairName ? UNNAMED : (inherited ?? UNNAMED))
      this.#path.pop()
      this.#pair = outerPair
      const isName = isText && (index % 2 === 0 || scanner.text[start + 1] === '-')
      member = isName ? this.#pairMember(start, scanner.at, firstEdit) : UNNAMED
      if (this.#endsList(CLOSE_BRACKET)) return
    }
  }

  /** Returns the member that a text names, as it is after redaction. */
  #pairMember(start: number, end: number, firstEdit: number): Member {
    if (this.#muted > 0 || end - start > MAX_PAIR_NAME) return UNNAMED
    const name: unknown =
      this.edits.count === firstEdit
        ? this.#decode(start, end)
        : JSON.parse(this.edits.read(this.#payload, start, end, firstEdit))
    return typeof name === 'string' && PAIR_NAME.test(name) ? this.#member(name) : UNNAMED
  }

  #endsList(close: number): boolean {
    const code = this.#scanner.next()
    this.#scanner.at++
    if (code === close) return true
    if (code !== COMMA) throw new Unscrubbable(`a comma is missing at ${this.#scanner.at - 1}`)
    return false
  }

  #scalar({ name, rule }: Member): void {
    const scanner = this.#scanner
    const start = scanner.at
    const first = scanner.scalar()
    if (this.#muted > 0 || first > 0x39) return // `true`, `false` or `null`
    const whole =
      this.#selectedRule('number', name) ?? this.#ruleByName(rule) ?? this.#numberRule(start, scanner.at)
    if (whole) this.#remove(start, scanner.at, whole)
  }

  #numberRule(start: number, end: number): Rule | undefined {
    if (end - start < 13) return undefined
    const text = this.#scanner.text.slice(start, end)
    if (!/^\d+$/.test(text) || this.#isFixed() || redactableFrom(this.#path, text) > 0) return undefined
    return this.#rules.numberRules.find(({ find }) => find?.(text).length)
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
    const isPairName = this.#path.at(-1) === 0 && this.#scanner.next() === COMMA
    return this.#selectedRules('string', isProtected).filter(
      ({ isWhole, matchesName }) => !isWhole && !(matchesName && isPairName),
    )
  }

  /** Returns the rule that redacts a value because of its name, unless Sentry needs the value. */
  #ruleByName(rule: Rule | undefined): Rule | undefined {
    return rule && this.#muted === 0 && !this.#isFixed() && redactableFrom(this.#path, '') === 0
      ? rule
      : undefined
  }

  #isFixed(): boolean {
    return this.#isSession && isFixedInSessions(this.#path)
  }

  #mayBeSelected(): boolean {
    return this.#rules.selected.length > 0 && this.#muted === 0 && !this.#isInMeta
  }

  #selectedRules(kind: ValueKind, isProtected: boolean): Rule[] {
    const path = this.#path
    const { name, at } = this.#pair ?? { name: '', at: -1 }
    const aliases = at < 1 ? [] : [path.with(at, name)]
    if (typeof path[at - 1] === 'number') aliases.push(path.toSpliced(at - 1, 2, name))
    const value = { path, aliases, kind, itemType: this.#itemType, isProtected }
    return this.#rules.selected.flatMap(({ selector, rules }) => (selector(value) ? rules : []))
  }

  #remove(start: number, end: number, rule: Rule): void {
    this.edits.add(start, end, 'null')
    this.#note([{ rule }], [[rule.id, 'x']])
  }

  #string(token: StringToken, { name, rule }: Member): void {
    const { start, end, mask, digits } = token
    if (this.#muted > 0 || this.#hidesAddress(token)) return
    const selected = this.#selectedRule('string', name)
    const whole = selected ?? this.#ruleByName(rule)
    const mayBeSelected = this.#mayBeSelected()
    if (!whole && !mayBeSelected && !this.#rules.mayMatch(mask, end - start - 2, digits)) return
    this.#budget.charge(end - start)
    const text = this.#decode(start, end, mask)
    if (isNeutral(text) || this.#isRuleName(text)) return
    const partRules = mayBeSelected && !selected ? this.#partRules() : []
    const parts = partRules.length > 0 ? applyRules(text, () => partRules, 0) : []
    if (whole?.method.kind === 'remove' && !coversAll(text, parts)) {
      this.#remove(start, end, whole)
      return
    }
    const redactions = replaceRedactions(text, this.#redactions(text, name, whole), parts)
    const [first] = redactions
    if (!first) return
    if (isParsed(this.#path)) {
      this.#remove(start, end, first.rule)
      return
    }
    const builtIn = redactions.find((each) => !this.#rules.isSelected(each.rule))
    if (builtIn && isUserField(this.#path)) this.#redactUser(start, end, text, builtIn.rule)
    else this.#redactText(start, end, text, redactions)
  }

  #redactText(start: number, end: number, text: string, redactions: readonly Redaction[]): void {
    this.edits.addRedactions(start + 1, this.#scanner.text.slice(start + 1, end - 1), redactions)
    this.#note(redactions, remarksOf(text, redactions), text)
  }

  /** Redacts what tells a user apart as a whole. The pseudonym of an address does not depend on its case. */
  #redactUser(start: number, end: number, text: string, found: Rule): void {
    const method = this.#rules.visitors.users
    const rule = { ...found, id: found.id.replace(/:\w+$/, `:${method.kind}`), method }
    if (method.kind === 'remove') this.#remove(start, end, rule)
    else {
      const [pseudonym] = redactWhole(text.trim().normalize('NFC').toLowerCase(), rule)
      if (pseudonym) this.#redactText(start, end, text, [{ ...pseudonym, end: text.length }])
    }
  }

  /** Returns what `whole`, or else the rules for every value, redact in a text. */
  #redactions(text: string, name: string, whole: Rule | undefined): Redaction[] {
    if (whole) return redactWhole(text, whole)
    const from = redactableFrom(this.#path, text)
    if (from >= text.length || this.#isFixed()) return []
    const keepsAddress = this.#rules.visitors.keepsReplyAddress && isReplyAddress(this.#path, this.#itemType)
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
  #memberName({ start, end, mask, digits }: StringToken): string {
    const name = this.#decode(start, end, mask)
    if (this.#muted > 0 || !this.#rules.mayMatch(mask, end - start - 2, digits)) return name
    this.#budget.charge(end - start)
    const redactions = applyRules(name, this.#rules.rulesForText, 0)
    if (redactions.length === 0) return name
    this.edits.addRedactions(start + 1, this.#scanner.text.slice(start + 1, end - 1), redactions)
    this.#count(redactions)
    return JSON.parse(this.edits.read(this.#payload, start, end, this.edits.count - redactions.length))
  }

  #decode(start: number, end: number, mask: number = CHARACTERS.OTHER): string {
    if ((mask & (CHARACTERS.OTHER | CHARACTERS.ESCAPE)) === 0)
      return this.#scanner.text.slice(start + 1, end - 1)
    return JSON.parse(this.#payload.toString('utf8', start, end))
  }

  #note(redactions: readonly { rule: Rule }[], remarks: Note['remarks'], text?: string): void {
    this.#count(redactions)
    if (this.#shape === 'plain' || this.#isInMeta) return
    const note = { path: [...this.#path], remarks }
    this.#notes.push(text === undefined ? note : { ...note, length: countCharacters(text) })
  }

  #count(redactions: readonly { rule: Rule }[]): void {
    for (const { rule } of redactions) {
      this.hits.set(rule.id, (this.hits.get(rule.id) ?? 0) + 1)
      if (this.#rules.isSelected(rule)) this.#selectedHits++
    }
  }
}

/** Tells if an array stands in the place of an object: a list of pairs, or a pair in it. */
function isPairs(path: Path): boolean {
  return isPairList(path) || isPairList(path.slice(0, -1))
}

function isAttributePath(path: Path): boolean {
  return path.length === 2 && path[0] === 'attributes'
}
