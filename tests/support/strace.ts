/** Reads a trace of a process's writes: each write has to be synced before it is acknowledged. */

/** Returns for a trace made with `-f -y` the number of `stored …` lines, and of those written before a sync of the preceding writes had completed. */
export function readTrace(trace: string, folder: string): { said: number; unsynced: number } {
  const unsynced = new Set<string>()
  const waiting = new Map<string, string[]>() // files of a pending sync, by thread
  const counts = { said: 0, unsynced: 0 }
  for (const line of trace.split('\n')) {
    const [, thread = '', call = ''] = /^(\d+)\s+(.*)$/.exec(line) ?? []
    const path = /^\w+\(\d+<([^>]+)>/.exec(call)?.[1] ?? ''
    if (/^(pwrite64|pwritev|write|writev)\(/.test(call) && isKept(path, folder)) unsynced.add(path)
    if (/^rename\w*\(/.test(call) && call.includes(folder)) follow(call, unsynced)
    if (/^f(data)?sync\(/.test(call)) waiting.set(thread, [path])
    if (/f(data)?sync.*\)\s+= 0$/.test(call))
      for (const synced of waiting.get(thread) ?? []) unsynced.delete(synced)
    if (/^write\(1<[^>]*>, "stored /.test(call)) {
      counts.said++
      if (unsynced.size > 0) counts.unsynced++
    }
  }
  return counts
}

/** Excludes the database itself: checkpoints write it, and no put waits for them. */
function isKept(path: string, folder: string): boolean {
  return path.startsWith(folder) && (path.endsWith('-wal') || path.includes('/bodies/'))
}

/** Adds the folder of a renamed file, which needs a sync of its own. */
function follow(call: string, unsynced: Set<string>): void {
  const [from = '', to = ''] = [...call.matchAll(/"([^"]+)"/g)].map(([, path = '']) => path)
  if (unsynced.delete(from)) unsynced.add(to)
  unsynced.add(to.slice(0, to.lastIndexOf('/')))
}
