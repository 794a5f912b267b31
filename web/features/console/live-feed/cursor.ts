/** Position of a reader in the feed: the number of the last entry of each replica. */

export type Cursor = ReadonlyMap<string, number>

const MAX_REPLICAS = 100

export function readCursor(text: string | null | undefined): Cursor {
  const entries = (text ?? '').split(',').flatMap((part): [string, number][] => {
    const [, name, number] = /^([\w.:-]{1,300}):(\d{1,15})$/.exec(part.trim()) ?? []
    return name === undefined ? [] : [[name, Number(number)]]
  })
  return new Map(entries.slice(0, MAX_REPLICAS))
}

export function writeCursor(cursor: Cursor): string {
  return [...cursor].map(([name, number]) => `${name}:${number}`).join()
}
