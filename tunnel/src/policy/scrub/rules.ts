/** Built-in rules: those of `SCRUB=default` and `SCRUB=strict`, and those that a file of rules may name (relay-pii/src/builtin.rs). */

import { DETECTORS, type DetectedType } from './detectors/detectors.ts'
import { isCookieName, isSecretName } from './detectors/secret-names.ts'
import type { Method, Rule } from './redaction.ts'
import type { RuleSet, VisitorRules } from './rule-index.ts'

/** `password` is Relay's type: secrets by name, and what a text names as one. */
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
const TEXTS: Readonly<Partial<Record<string, string>>> = {
  apikey: '[key]',
  creditcard: '[creditcard]',
  email: '[email]',
  iban: '[iban]',
  imei: '[imei]',
  ip: '[ip]',
  jwt: '[jwt]',
  mac: '[mac]',
  password: '[password]',
  pemkey: '[pemkey]',
  urlauth: '[auth]',
  userpath: '[user]',
  usssn: '[us-ssn]',
  uuid: '[uuid]',
}
/** Built-in names leave out the underscores of types. */
const TYPES_BY_NAME: Readonly<Record<string, RuleType>> = { urlauth: 'url_auth', usssn: 'us_ssn' }
const DEFAULT_METHODS: Readonly<Record<string, string>> = {
  mac: 'mask',
  uuid: 'mask',
  usssn: 'mask',
  password: 'remove',
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
  const type = TYPES_BY_NAME[typeName] ?? typeName
  if (!isRuleType(type) || (type.includes('_') && type === typeName)) return undefined
  const kind = given ?? DEFAULT_METHODS[typeName] ?? 'replace'
  const method = methodOf(kind, typeName, hashKey)
  return method && createRules(type, `@${typeName}:${kind}`, method)
}

function methodOf(kind: string, typeName: string, hashKey: string): Method | undefined {
  if (kind === 'filter') return { kind: 'replace', text: FILTERED }
  if (kind === 'replace') return { kind, text: TEXTS[typeName] ?? FILTERED }
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
  level: 'default' | 'strict',
  users: VisitorRules['users'] = { kind: 'remove' },
): RuleSet {
  const isStrict = level === 'strict'
  return {
    everywhere: (isStrict ? STRICT_NAMES : DEFAULT_NAMES).flatMap((name) => builtInRules(name, '') ?? []),
    selected: [],
    visitors: { users, keepsReplyAddress: !isStrict, hidesAddress: isStrict },
  }
}
