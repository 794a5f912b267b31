/** Moves what waits out of a spool into a plain file, and from such a file into a spool: of another kind, or on another machine. */

import { open, readFile, rename } from 'node:fs/promises'
import { createSpoolFile, openSpoolFile, type SpoolFileWriter } from './export-file.ts'
import type { Found, Position, PutResult, Spool } from './spool.ts'

export type Exported = {
  envelopes: number
  bytes: number
  /** Which a tunnel was sending meanwhile. */
  underWay: number
  /** Taken out that were gone by themselves before that: they may arrive twice. */
  gone: number
}

export type Imported = {
  stored: number
  known: number
  bytes: number
  /** Why it stopped before the end; the next import goes on from there. */
  stopped: string | undefined
}

const PAGE = 200
const AT_A_TIME = 32
const MEMORY_BYTES = 16 * 1024 * 1024 // of bodies in hand, or one that is larger in pieces

/** Leaves everything where it is. */
export function copyOut(spool: Spool, path: string): Promise<Exported> {
  return exportTo(spool, path, async () => 0)
}

/** Each leaves the spool when it is on disk in the file, synced: a tunnel that runs does not deliver it any more. */
export function takeOut(spool: Spool, path: string): Promise<Exported> {
  return exportTo(spool, path, async (page) => {
    const purged = await Promise.all(
      page.map(({ id, key, place }) => spool.purge({ one: { id, key, place } })),
    )
    return purged.filter(({ length }) => length === 0).length
  })
}

async function exportTo(
  spool: Spool,
  path: string,
  settle: (page: readonly Found[]) => Promise<number>,
): Promise<Exported> {
  const exported: Exported = { envelopes: 0, bytes: 0, underWay: 0, gone: 0 }
  const file = await createSpoolFile(path)
  try {
    for await (const page of pagesOf(spool)) {
      const written: Found[] = []
      for (const found of page) {
        if (!(await writeTo(file, spool, found))) continue
        written.push(found)
        exported.bytes += found.bytes
        exported.underWay += Number(found.leased)
      }
      await file.sync()
      exported.envelopes += written.length
      exported.gone += await settle(written)
    }
    await file.end()
    return exported
  } finally {
    await file.close()
  }
}

/** `false` when it has come to its end meanwhile. */
async function writeTo(file: SpoolFileWriter, spool: Spool, found: Found): Promise<boolean> {
  try {
    await file.write(found, await spool.read(found))
    return true
  } catch (error) {
    if (await spool.find(found)) throw error
    return false
  }
}

/** The oldest first; those that come meanwhile too. */
async function* pagesOf(spool: Spool): AsyncGenerator<Found[]> {
  for (let after: Position | undefined; ; ) {
    const page = await spool.list({ order: 'oldest', limit: PAGE, ...(after && { after }) })
    const last = page.at(-1)
    if (!last) return
    yield page
    after = { received: last.received, place: last.place }
  }
}

/**
 * Puts all that the file holds, into a spool that is opened to keep all: what made room would have come to an end that nobody tells of.
 * How far it came is kept beside the file, so that one that was interrupted goes on, and one that is begun twice stores nothing twice.
 */
export async function putIn(spool: Spool, path: string): Promise<Imported> {
  const imported: Imported = { stored: 0, known: 0, bytes: 0, stopped: undefined }
  const mark = `${path}.imported`
  const file = await openSpoolFile(path)
  const batch: { bytes: number; next: number; put: Promise<PutResult> }[] = []
  try {
    for await (const { waiting, body, next } of file.envelopes(await readMark(mark, file.id, spool.id))) {
      batch.push({ bytes: waiting.bytes, next, put: spool.put(waiting, body, 0) })
      const inHand = batch.reduce((sum, { bytes }) => sum + bytes, 0)
      if ((batch.length >= AT_A_TIME || inHand >= MEMORY_BYTES) && !(await settle())) return imported
    }
    await settle()
  } catch (error) {
    if (await settle()) imported.stopped = error instanceof Error ? error.message : String(error)
  } finally {
    await file.close()
  }
  return imported

  /** Whether all of them are in the spool. The mark is set where that can be said of all before it. */
  async function settle(): Promise<boolean> {
    const results = await Promise.allSettled(batch.map(({ put }) => put))
    let reached = 0
    for (const [i, { bytes, next }] of batch.splice(0).entries()) {
      const result = results[i]
      imported.stopped ??= problemOf(result)
      if (imported.stopped === undefined) reached = next
      if (result?.status !== 'fulfilled' || result.value.kind === 'full') continue
      imported[result.value.kind]++
      if (result.value.kind === 'stored') imported.bytes += bytes
    }
    if (reached > 0) await writeMark(mark, { file: file.id, spool: spool.id, next: reached })
    return imported.stopped === undefined
  }
}

type Mark = { file: string; spool: string; next: number }

/** Where to go on; 0 when nothing of this file was put into this spool yet. */
async function readMark(path: string, file: string, spool: string): Promise<number> {
  const text = await readFile(path, 'utf8').catch(() => '{}')
  const mark: Partial<Mark> = JSON.parse(text)
  return mark.file === file && mark.spool === spool ? (mark.next ?? 0) : 0
}

/** Synced, and never half written. */
async function writeMark(path: string, mark: Mark): Promise<void> {
  const handle = await open(`${path}.new`, 'w', 0o600)
  try {
    await handle.writeFile(JSON.stringify(mark))
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(`${path}.new`, path)
}

function problemOf(result: PromiseSettledResult<PutResult> | undefined): string | undefined {
  if (result?.status === 'rejected') return `the spool does not take it: ${result.reason}`
  return result?.value.kind === 'full' ? 'the spool is full' : undefined
}
