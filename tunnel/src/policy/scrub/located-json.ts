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
  return new LocatedParser(file).parse()
}

type Token = { token: string; offset: number }

/** Matches a text, a sign, another value, or what is none of these. */
const TOKEN = /"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+|"/g

class LocatedParser {
  readonly #file: string
  readonly #tokens: Token[]
  #next = 0

  constructor(file: string) {
    this.#file = file
    this.#tokens = Array.from(file.matchAll(TOKEN), ({ 0: token, index: offset }) => ({ token, offset }))
  }

  parse(): Located {
    const value = this.#value()
    const { token, offset } = this.#read()
    return token === '' ? value : this.#fail(offset)
  }

  #value(): Located {
    const { token, offset } = this.#read()
    if (token !== '[' && token !== '{') return { offset, value: this.#literal({ token, offset }) }
    if (token === '[') {
      const elements: Located[] = []
      this.#list(']', () => elements.push(this.#value()))
      return { offset, value: elements }
    }
    const members: LocatedMembers = new Map()
    this.#list('}', () => {
      const nameToken = this.#read()
      const { offset: nameOffset } = nameToken
      const name = this.#literal(nameToken)
      if (typeof name !== 'string') return this.#fail(nameOffset)
      if (members.has(name)) throw new FileProblem(this.#file, nameOffset, `"${name}" stands there twice`)
      const colon = this.#read()
      if (colon.token !== ':') this.#fail(colon.offset)
      members.set(name, { nameOffset, member: this.#value() })
    })
    return { offset, value: members }
  }

  #literal({ token, offset }: Token): string | number | boolean | null {
    try {
      return JSON.parse(token)
    } catch {
      return this.#fail(offset)
    }
  }

  #list(end: string, readPart: () => void): void {
    if (this.#tokens[this.#next]?.token === end) {
      this.#next++
      return
    }
    for (;;) {
      readPart()
      const { token, offset } = this.#read()
      if (token === end) return
      if (token !== ',') this.#fail(offset)
    }
  }

  /** Returns the next token, an empty one at the end. */
  #read(): Token {
    return this.#tokens[this.#next++] ?? { token: '', offset: this.#file.length }
  }

  #fail(offset: number): never {
    throw new FileProblem(this.#file, offset, 'this is not JSON')
  }
}
