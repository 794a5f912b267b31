/** Where a reader of the feed stands: the number of the last receipt seen of each replica. */

export type Cursor = ReadonlyMap<string, number>

const MOST = 100 // replicas

export function readCursor(text: string | null | undefined): Cursor {
  const entries = (text ?? '').split(',').flatMap((part): [string, number][] => {
    const [, name, number] = /^([\w.:-]{1,300}):(\d{1,15})$/.exec(part.trim()) ?? []
    return name === undefined ? [] : [[name, Number(number)]]
  })
  return new Map(entries.slice(0, MOST))
}

export function writeCursor(cursor: Cursor): string {
  return [...cursor].map(([name, number]) => `${name}:${number}`).join()
}
