/** Relay's globs: without regard to case, `*` `?` `[..]` `[!..]` `{a,b}`, a backslash for what is meant literally. */

export type Matcher = (text: string) => boolean

/** Matches what any of the globs does, from end to end (relay-common/src/glob); `undefined` for none. Time is linear in the text. */
export function compileGlobs(globs: readonly string[]): Matcher | undefined {
  const matchers = globs.flatMap(expandBraces).map(compileGlob)
  return matchers.length === 0 ? undefined : (text) => matchers.some((matches) => matches(text))
}

/** `a{b,c}` stands for `ab` and `ac`. */
function expandBraces(glob: string): string[] {
  const [whole, before = '', choices, after = ''] = /^((?:\\.|[^\\{])*)\{([^}]*)\}(.*)$/s.exec(glob) ?? []
  if (whole === undefined || choices === undefined) return [glob]
  return choices.split(',').flatMap((choice) => expandBraces(`${before}${choice}${after}`))
}

/** What stands between stars: characters, each matched by one element, so that its length is known. */
type Piece = { at: RegExp; length: number }

/** Each piece is looked for once, leftmost: going back could not find more, and a hostile text would make it go back for minutes. */
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

/** Where the piece ends that is found at or after `from`; below 0 when there is none. */
function findAfter({ at, length }: Piece, text: string, from: number): number {
  at.lastIndex = from
  const found = at.exec(text)
  return found ? found.index + length : -1
}
