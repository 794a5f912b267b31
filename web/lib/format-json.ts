/** Formats untrusted JSON as text of bounded length. Nothing behind the cut is visited. */

const DEEPEST = 20 // levels: each one indents all lines within it

/** Writes JSON over several lines, at most some `most` characters. */
export function formatJson(value: unknown, most: number): string {
  return write(value, most, '\n')
}

/** Writes JSON on one line, at most some `most` characters. */
export function formatJsonLine(value: unknown, most: number): string {
  return write(value, most, '')
}

const CUT = '…'

function write(value: unknown, most: number, newline: string): string {
  let text = ''
  append(value, 0)
  return text.length > most ? text.slice(0, most) + CUT : text

  function append(value: unknown, level: number): void {
    if (typeof value === 'string') text += quote(value)
    else if (typeof value !== 'object' || value === null) text += JSON.stringify(value) ?? ''
    else if (level >= DEEPEST) text += CUT
    else if (Array.isArray(value)) appendList(value, level)
    else appendObject(value, level)
  }

  function quote(given: string): string {
    return JSON.stringify(given.length > most ? given.slice(0, most) + CUT : given)
  }

  function appendList(values: readonly unknown[], level: number): void {
    let many = 0
    text += '['
    for (const value of values) {
      if (text.length > most) return
      startMember(many++, level + 1)
      append(value, level + 1)
    }
    endMembers(many, level)
    text += ']'
  }

  function appendObject(object: object, level: number): void {
    let many = 0
    text += '{'
    for (const [name, value] of entriesOf(object)) {
      if (text.length > most) return
      startMember(many++, level + 1)
      text += `${quote(name)}:${newline && ' '}`
      append(value, level + 1)
    }
    endMembers(many, level)
    text += '}'
  }

  function startMember(before: number, level: number): void {
    if (before > 0) text += ','
    if (newline) text += newline + '  '.repeat(level)
  }

  function endMembers(many: number, level: number): void {
    if (newline && many > 0) text += newline + '  '.repeat(level)
  }
}

/** Yields members one by one: an untrusted object may have a hundred thousand. */
function* entriesOf(object: object): Generator<[name: string, value: unknown]> {
  for (const name in object) if (Object.hasOwn(object, name)) yield [name, Reflect.get(object, name)]
}

/** Returns the first `most` names and values. */
export function firstEntries(object: object, most: number): [name: string, value: unknown][] {
  const first: [string, unknown][] = []
  for (const entry of entriesOf(object)) {
    if (first.length >= most) break
    first.push(entry)
  }
  return first
}
