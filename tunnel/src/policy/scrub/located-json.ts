/** JSON values with their place in a file, for messages that name it. */

import { type Node, type ParseError, parseTree } from 'jsonc-parser'

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
  const errors: ParseError[] = []
  const tree = parseTree(file, errors, { disallowComments: true })
  const [error] = errors
  if (!tree || error) throw new FileProblem(file, error?.offset ?? file.length, 'this is not JSON')
  return locate(file, tree)
}

function locate(file: string, { type, offset, value, children = [] }: Node): Located {
  if (type === 'array') return { offset, value: children.map((element) => locate(file, element)) }
  if (type !== 'object') return { offset, value }
  const members: LocatedMembers = new Map()
  for (const { children: [name, member] = [] } of children) {
    if (!name || !member) continue // not in a file without errors
    if (members.has(name.value))
      throw new FileProblem(file, name.offset, `"${name.value}" stands there twice`)
    members.set(name.value, { nameOffset: name.offset, member: locate(file, member) })
  }
  return { offset, value: members }
}
