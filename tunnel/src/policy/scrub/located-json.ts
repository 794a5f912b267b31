/** JSON values with their place in a file, for messages that name it. */

export type Located = { offset: number; value: string | number | boolean | null | Located[] | LocatedMembers }
/** Members by name, with the offset of the name. */
export type LocatedMembers = Map<string, { nameOffset: number; member: Located }>

/** Problem of a file, with its place. */
export class FileProblem extends Error {
  override readonly name = 'FileProblem'
  readonly line: number
  readonly column: number

  constructor(file: string, offset: number, message: string) {
    const lines = file.slice(0, offset).split('\n')
    const [line, column] = [lines.length, (lines.at(-1)?.length ?? 0) + 1]
    super(`line ${line}, column ${column}: ${message}`)
    this.line = line
    this.column = column
  }
}

/** Parses a file. Throws `FileProblem`. */
export function parseLocated(file: string): Located {
  try {
    JSON.parse(file)
  } catch (error) {
    const [, position = file.length] = /at position (\d+)/.exec(String(error)) ?? []
    throw new FileProblem(file, Number(position), 'this is not JSON')
  }
  return new LocatedReader(file).value()
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[[\]{}]|[^\s[\]{},:"]+/g

/** Reads a valid JSON text. */
class LocatedReader {
  readonly #file: string
  readonly #tokens: { 0: string; index: number }[]
  #next = 0

  constructor(file: string) {
    this.#file = file
    this.#tokens = [...file.matchAll(TOKEN)]
  }

  value(): Located {
    const { token, offset } = this.#token()
    if (token === '[') return { offset, value: this.#listUntil(']', () => this.value()) }
    if (token !== '{') return { offset, value: JSON.parse(token) }
    const members: LocatedMembers = new Map()
    this.#listUntil('}', () => {
      const { token: literal, offset: nameOffset } = this.#token()
      const name: string = JSON.parse(literal)
      if (members.has(name)) throw new FileProblem(this.#file, nameOffset, `"${name}" stands there twice`)
      members.set(name, { nameOffset, member: this.value() })
    })
    return { offset, value: members }
  }

  #listUntil<T>(end: string, read: () => T): T[] {
    const parts: T[] = []
    while (this.#tokens[this.#next]?.[0] !== end) parts.push(read())
    this.#next++
    return parts
  }

  #token(): { token: string; offset: number } {
    const match = this.#tokens[this.#next++]
    return { token: match?.[0] ?? '', offset: match?.index ?? 0 }
  }
}
