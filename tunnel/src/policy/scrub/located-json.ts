/** JSON values with their place in a file, for messages that name it. */

import { JsonScanner, MAX_DEPTH, Unscrubbable } from './json-scanner.ts'

export type Located = { offset: number; value: string | number | boolean | null | Located[] | LocatedMembers }
/** Members by name, with the offset of the name. */
export type LocatedMembers = Map<string, { nameOffset: number; member: Located }>

/** Problem of a file, with its place. */
export class FileProblem extends Error {
  override readonly name = 'FileProblem'
  readonly line: number
  readonly column: number

  constructor(file: Buffer, offset: number, message: string) {
    const lines = file.subarray(0, offset).toString().split('\n')
    const [line, column] = [lines.length, (lines.at(-1)?.length ?? 0) + 1]
    super(`line ${line}, column ${column}: ${message}`)
    this.line = line
    this.column = column
  }
}

/** Parses a file. Throws `FileProblem`. */
export function parseLocated(file: Buffer): Located {
  const scanner = new JsonScanner(file.toString('latin1'))
  try {
    const value = readValue(scanner, file, 0)
    if (scanner.next() !== -1) throw new Unscrubbable('something follows the value')
    return value
  } catch (error) {
    if (!(error instanceof Unscrubbable)) throw error
    throw new FileProblem(file, scanner.at, 'this is not JSON')
  }
}

function readValue(scanner: JsonScanner, file: Buffer, depth: number): Located {
  if (depth > MAX_DEPTH) throw new Unscrubbable('too many levels')
  const code = scanner.next()
  const offset = scanner.at
  if (code === 0x22) return { offset, value: readString(scanner, file) }
  if (code === 0x7b) return { offset, value: readMembers(scanner, file, depth) }
  if (code === 0x5b) return { offset, value: readElements(scanner, file, depth) }
  scanner.scalar()
  return { offset, value: JSON.parse(scanner.text.slice(offset, scanner.at)) }
}

function readString(scanner: JsonScanner, file: Buffer): string {
  const { start, end } = scanner.string()
  return JSON.parse(file.toString('utf8', start, end))
}

function readMembers(scanner: JsonScanner, file: Buffer, depth: number): LocatedMembers {
  const members: LocatedMembers = new Map()
  readList(scanner, 0x7d, () => {
    scanner.next()
    const nameOffset = scanner.at
    const name = readString(scanner, file)
    if (members.has(name)) throw new FileProblem(file, nameOffset, `"${name}" stands there twice`)
    scanner.expect(0x3a)
    members.set(name, { nameOffset, member: readValue(scanner, file, depth + 1) })
  })
  return members
}

function readElements(scanner: JsonScanner, file: Buffer, depth: number): Located[] {
  const elements: Located[] = []
  readList(scanner, 0x5d, () => elements.push(readValue(scanner, file, depth + 1)))
  return elements
}

function readList(scanner: JsonScanner, close: number, readPart: () => void): void {
  scanner.at++
  if (scanner.next() === close) {
    scanner.at++
    return
  }
  for (;;) {
    readPart()
    if (scanner.next() === close) break
    scanner.expect(0x2c)
  }
  scanner.at++
}
