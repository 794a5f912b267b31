/** Counts log lines of envelopes in a stream, without parsing them. */

const NEWLINE = 0x0a
const MARK = Buffer.from('"msg":"envelope"')

export function countLog() {
  let lines = 0
  let rest = Buffer.alloc(0) // the beginning of a line
  return { take, lines: () => lines }

  function take(chunk: Buffer): void {
    const text = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk
    const end = text.lastIndexOf(NEWLINE) + 1
    rest = Buffer.from(text.subarray(end))
    lines += count(text.subarray(0, end))
  }
}

function count(text: Buffer): number {
  let found = 0
  for (let at = text.indexOf(MARK); at >= 0; at = text.indexOf(MARK, at + MARK.length)) found++
  return found
}
