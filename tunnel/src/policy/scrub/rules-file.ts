/** Files of rules, in the format of Relay's PII configuration (relay-pii/src/config.rs). */

import { type Node, type ParseError, parseTree } from 'jsonc-parser'
import { compileNamePattern, compilePattern } from './detectors/patterns.ts'
import type { Method, Rule } from './redaction.ts'
import { builtInRules, createRules, isRuleType, type RuleSet } from './rules.ts'
import { parseSelector, type Selector, SelectorError } from './selector.ts'

/** Members by name, with the offset of the name. */
type Members = Map<string, { nameOffset: number; member: Node }>

/** Problem of a file, with its place. */
export class FileProblem extends Error {
  override readonly name = 'FileProblem'

  constructor(file: string, offset: number, message: string) {
    const lines = file.slice(0, offset).split('\n')
    super(`line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}: ${message}`)
  }
}

/** Lets a rule for names redact a text that contains such a name, as Relay does. */
function searchTexts(rule: Rule): Rule {
  const { matchesName } = rule
  return matchesName ? { ...rule, find: (text) => (matchesName(text) ? [[0, text.length]] : []) } : rule
}

/** Reads the rules of a file. Throws `FileProblem`. */
export function readRulesFile(file: Buffer): RuleSet['selected'] {
  return new RulesFile(file.toString()).read()
}

const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  pattern: ['pattern', 'replaceGroups'],
  redact_pair: ['keyPattern'],
  multiple: ['rules', 'hideInner'],
  alias: ['rule', 'hideInner'],
}
const MAX_ALIASES = 20

class RulesFile {
  readonly #file: string
  #rules: Members = new Map()
  #hashKey = ''

  constructor(file: string) {
    this.#file = file
  }

  read(): RuleSet['selected'] {
    const root = this.#members(this.#parse(), ['rules', 'vars', 'applications'])
    const vars = root.get('vars')
    const hashKey = vars && this.#members(vars.member, ['hashKey']).get('hashKey')
    if (hashKey) this.#hashKey = this.#text(hashKey.member)
    const rules = root.get('rules')
    if (rules) this.#rules = this.#members(rules.member)
    for (const [name, { nameOffset }] of this.#rules) this.#resolve(name, nameOffset, 0)
    const applications = root.get('applications')
    if (!applications) return []
    return Array.from(this.#members(applications.member), ([text, { nameOffset, member }]) => ({
      selector: this.#selector(text, nameOffset),
      rules: this.#list(member).flatMap((name) => this.#resolve(this.#text(name), name.offset, 0)),
    }))
  }

  #parse(): Node {
    const errors: ParseError[] = []
    const tree = parseTree(this.#file, errors, { disallowComments: true })
    const [error] = errors
    return tree && !error ? tree : this.#fail(error?.offset ?? this.#file.length, 'this is not JSON')
  }

  #fail(offset: number, message: string): never {
    throw new FileProblem(this.#file, offset, message)
  }

  #selector(text: string, nameOffset: number): Selector {
    try {
      return parseSelector(text)
    } catch (error) {
      if (!(error instanceof SelectorError)) throw error
      return this.#fail(nameOffset + 1 + error.offset, `in the selector, ${error.message}`)
    }
  }

  /** Returns the rules of a name: one of the file, or a built-in one. */
  #resolve(name: string, offset: number, aliases: number): Rule[] {
    const own = this.#rules.get(name)
    const rules = own
      ? this.#ownRules(name, own.member, aliases)
      : builtInRules(name, this.#hashKey)?.map(searchTexts)
    return rules ?? this.#fail(offset, `there is no rule "${name}"`)
  }

  #ownRules(id: string, spec: Node, aliases: number): Rule[] {
    if (aliases > MAX_ALIASES) this.#fail(spec.offset, `the rule "${id}" refers to itself`)
    const members = this.#members(spec)
    const typeMember = members.get('type')
    if (!typeMember) this.#fail(spec.offset, `the rule "${id}" has no type`)
    const type = this.#text(typeMember.member).replace('redactPair', 'redact_pair')
    this.#members(spec, ['type', 'redaction', ...(MEMBERS[type] ?? [])])
    const method = this.#method(members)
    if (type === 'alias' || type === 'multiple') return this.#references(id, spec, members, method, aliases)
    const used: Method = method ?? { kind: 'remove' }
    if (type === 'pattern') return [this.#patternRule(id, spec, members, used)]
    if (type === 'redact_pair') {
      const matchesName = this.#compile(this.#required(spec, members, 'keyPattern'), compileNamePattern)
      return [searchTexts({ id, method: used, needs: 0, minLength: 0, minDigits: 0, matchesName })]
    }
    if (!isRuleType(type)) this.#fail(typeMember.member.offset, `there is no rule type "${type}"`)
    return createRules(type, id, used).map(searchTexts)
  }

  /** The redaction of the outer rule takes precedence; with `hideInner`, its name does too. */
  #references(id: string, spec: Node, members: Members, method: Method | undefined, aliases: number): Rule[] {
    const target = members.get('rule')?.member
    const targets = target ? [target] : this.#list(this.#required(spec, members, 'rules'))
    const isHidden = members.get('hideInner')?.member.value === true
    return targets
      .flatMap((each) => this.#resolve(this.#text(each), each.offset, aliases + 1))
      .map((rule) => ({ ...rule, id: isHidden ? id : rule.id, method: method ?? rule.method }))
  }

  #patternRule(id: string, spec: Node, members: Members, method: Method): Rule {
    const groups = members.get('replaceGroups')
    const numbers =
      groups && groups.member.value !== null
        ? this.#list(groups.member).map((each) => this.#group(each))
        : [0]
    const pattern = this.#required(spec, members, 'pattern')
    const find = this.#compile(pattern, (text) => compilePattern(text, numbers))
    return { id, method, needs: -1, minLength: 1, minDigits: 0, find }
  }

  #group({ offset, value }: Node): number {
    if (typeof value === 'number' && Number.isInteger(value) && value >= 0) return value
    return this.#fail(offset, 'write the number of a group')
  }

  #compile<T>(pattern: Node, compile: (text: string) => T): T {
    try {
      return compile(this.#text(pattern))
    } catch (error) {
      if (error instanceof FileProblem) throw error
      const message = error instanceof Error ? error.message : ''
      const reason = /^error: (.+)/m.exec(message)?.[1] ?? message
      return this.#fail(pattern.offset, `the pattern is not valid: ${reason}`)
    }
  }

  /** `undefined` stands for the default method. */
  #method(members: Members): Method | undefined {
    const redaction = members.get('redaction')?.member
    if (!redaction) return undefined
    const parts = this.#members(redaction, ['method', 'text'])
    const method = parts.get('method')?.member
    const kind = method ? this.#text(method) : 'default'
    const text = parts.get('text')?.member
    if (kind === 'default') return undefined
    if (kind === 'replace') return { kind, text: text ? this.#text(text) : '[Filtered]' }
    if (kind === 'hash') return { kind, key: this.#hashKey }
    if (kind === 'remove' || kind === 'mask') return { kind }
    return this.#fail(method?.offset ?? 0, `the method "${kind}" is not supported`)
  }

  #required(spec: Node, members: Members, name: string): Node {
    return members.get(name)?.member ?? this.#fail(spec.offset, `"${name}" is missing`)
  }

  /** Returns the members of an object, which may have only the `known` ones. */
  #members({ type, offset, children = [] }: Node, known?: readonly string[]): Members {
    if (type !== 'object') this.#fail(offset, 'write an object')
    const members: Members = new Map()
    for (const { children: [name, member] = [] } of children) {
      if (!name || !member) continue // not in a file without errors
      if (members.has(name.value)) this.#fail(name.offset, `"${name.value}" stands there twice`)
      if (known && !known.includes(name.value))
        this.#fail(name.offset, `"${name.value}" is not known here; write one of ${known.join(', ')}`)
      members.set(name.value, { nameOffset: name.offset, member })
    }
    return members
  }

  #list({ type, offset, children = [] }: Node): Node[] {
    return type === 'array' ? children : this.#fail(offset, 'write a list')
  }

  #text({ offset, value }: Node): string {
    return typeof value === 'string' ? value : this.#fail(offset, 'write a text')
  }
}
