/** Relay's globs (relay-common/src/glob): `*` `?` `[..]` `[!..]` `{a,b}`, backslash escapes, case-insensitive. */

export type Matcher = (text: string) => boolean

/** Compiles globs to one matcher of whole texts, whose time is linear in the text; `undefined` for no globs. */
export function compileGlobs(globs: readonly string[]): Matcher | undefined {
  const matchers = globs.flatMap(expandBraces).map(compileGlob)
  return matchers.length === 0 ? undefined : (text) => matchers.some((matches) => matches(text))
}

/** Expands `a{b,c}` to `ab` and `ac`. */
function expandBraces(glob: string): string[] {
  const [whole, before = '', choices, after = ''] = /^((?:\\.|[^\\{])*)\{([^}]*)\}(.*)$/s.exec(glob) ?? []
  if (whole === undefined || choices === undefined) return [glob]
  return choices.split(',').flatMap((choice) => expandBraces(`${before}${choice}${after}`))
}

/** Part of a glob between stars. Each element matches one character, so that the length is known. */
type Piece = { at: RegExp; length: number }

/** Finds each piece once, leftmost. Backtracking could not find more, and would take minutes on a hostile text. */
function compileGlob(glob: string): Matcher {
  const [first, ...others] = splitAtStars(glob)
  const last = others.pop()
  if (!first) return () => false
  if (!last) return (text) => text.length === first.length && standsAt(first, text, 0)
  return (text) => {
    const end = text.length - last.length
    if (end < first.length || !standsAt(first, text, 0) || !standsAt(last, text, end)) return false
    let from = first.length
    for (const piece of others) {
      from = findAfter(piece, text, from)
      if (from < 0) return false
    }
    return from <= end
  }
}

const TOKEN = /\\(.)|(\*+)|(\?)|\[(!?)([^\]]+)\]|(.)/gs

function splitAtStars(glob: string): Piece[] {
  const pieces = [[] as string[]]
  for (const [, escaped, stars, any, not, set, char] of glob.matchAll(TOKEN)) {
    if (stars) pieces.push([])
    else if (any) pieces.at(-1)?.push('.')
    else if (set) pieces.at(-1)?.push(`[${not ? '^' : ''}${set.replace(/[\\^\]]/g, '\\$&')}]`)
    else pieces.at(-1)?.push(RegExp.escape(escaped ?? char ?? ''))
  }
  return pieces.map((elements) => ({ at: new RegExp(elements.join(''), 'gis'), length: elements.length }))
}

function standsAt({ at, length }: Piece, text: string, start: number): boolean {
  at.lastIndex = start
  return at.exec(text.slice(0, start + length))?.index === start
}

/** Returns the end of the first match at or after `from`; -1 for none. */
function findAfter({ at, length }: Piece, text: string, from: number): number {
  at.lastIndex = from
  const found = at.exec(text)
  return found ? found.index + length : -1
}
