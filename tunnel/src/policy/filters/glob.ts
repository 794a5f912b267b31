/**
 * Relay's globs (relay-pattern): `*` `?` `[..]` `[!..]` `{a,b}`, backslash escapes, case-insensitive. Syntax that Relay would not accept, such
 * as a bracket that is not closed, is taken literally.
 */

export type Matcher = (text: string) => boolean

/** Compiles globs to one matcher of whole texts, whose time is linear in the text; `undefined` for no globs. Throws for a range like `[z-a]`. */
export function compileGlobs(globs: readonly string[]): Matcher | undefined {
  const patterns = globs.flatMap(expandBraces).map(patternOf)
  return globs.length === 0 ? undefined : (text) => patterns.some((pattern) => pattern.test(text))
}

const CLASS = String.raw`\[(?:\\.|[^\\\]])*\]`
const BRACES = new RegExp(String.raw`^((?:\\.|${CLASS}|[^\\{])*)\{((?:\\.|${CLASS}|[^\\}])*)\}(.*)$`, 'su')
const CHOICE = new RegExp(String.raw`(?:\\.|${CLASS}|[^\\,])+`, 'gsu')

/** Expands `a{b,c}` to `ab` and `ac`. Empty choices are ignored. */
function expandBraces(glob: string): string[] {
  const [, before, choices, after] = BRACES.exec(glob) ?? []
  if (before === undefined || choices === undefined) return [glob]
  return (choices.match(CHOICE) ?? []).flatMap((choice) => expandBraces(`${before}${choice}${after}`))
}

const TOKEN = /\\(.)|(\*+)|(\?)|\[(!?)((?:\\.|[^\\\]])*)\]|(.)/gsu

/**
 * Translates a glob to a pattern that finds each part between stars once, leftmost. To find it again could not help, and would take minutes
 * on a hostile text: a lookahead does not backtrack.
 */
function patternOf(glob: string): RegExp {
  const pieces = ['']
  const append = (source: string) => pieces.push((pieces.pop() ?? '') + source)
  for (const [, escaped, stars, any, not, set, char] of glob.matchAll(TOKEN)) {
    if (stars) pieces.push('')
    else if (any) append('[^]')
    else if (set !== undefined) append(classOf(not === '!', set))
    else append(RegExp.escape(escaped ?? char ?? ''))
  }
  const [first, ...others] = pieces
  const last = others.pop()
  if (last === undefined) return first === '' ? /(?!)/ : new RegExp(`^${first}$`, 'iu')
  const between = others.map((piece, index) => `(?=([^]*?${piece}))\\${index + 1}`).join('')
  return new RegExp(`^${first}${between}[^]*${last}$`, 'iu')
}

/** Translates the content of brackets. After a range, a dash extends it: `[a-c-e]` is `[a-e]`. */
function classOf(isNegated: boolean, set: string): string {
  const ranges: [from: string, to: string][] = []
  let isOpen = false // after the dash of a range
  for (const [token] of set.matchAll(/\\?./gsu)) {
    const last = ranges.at(-1)
    const character = token.replace(/^\\(?=.)/s, '')
    if (token === '-' && last && !isOpen) isOpen = true
    else {
      if (last && isOpen) last[1] = character
      else ranges.push([character, character])
      isOpen = false
    }
  }
  if (isOpen) ranges.push(['-', '-'])
  if (ranges.length === 0) return ''
  const code = (character: string) => `\\u{${character.codePointAt(0)?.toString(16)}}`
  return `[${isNegated ? '^' : ''}${ranges.map(([from, to]) => `${code(from)}-${code(to)}`).join('')}]`
}
