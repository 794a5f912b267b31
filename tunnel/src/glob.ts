/** Relay's globs: without regard to case, `*` `?` `[..]` `[!..]` `{a,b}`, a backslash for what is meant literally. */

/** One expression that matches what any of the globs does, from end to end; `undefined` for none (relay-common/src/glob). */
export function compileGlobs(globs: readonly string[]): RegExp | undefined {
  if (globs.length === 0) return undefined
  return new RegExp(`^(?:${globs.map(translate).join('|')})$`, 'is')
}

const TOKEN = /\\(.)|\*+|\?|\[(!?)([^\]]+)\]|\{([^}]*)\}|(.)/gs

function translate(glob: string): string {
  return glob.replace(TOKEN, (whole, escaped, not, set, choices, char) => {
    if (escaped !== undefined) return literal(escaped)
    if (whole[0] === '*') return '.*'
    if (whole === '?') return '.'
    if (set !== undefined) return `[${not === '!' ? '^' : ''}${set.replace(/[\\^\]]/g, '\\$&')}]`
    if (choices !== undefined) return `(?:${choices.split(',').map(translate).join('|')})`
    return literal(char)
  })
}

function literal(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
}
