/** Frames of minified scripts in their source, by the maps in folders, as bundlers write them. */

import type { Dirent } from 'node:fs'
import { open, opendir, readFile, stat } from 'node:fs/promises'
import { basename, join, posix, relative, sep } from 'node:path'
import { ParsedMap, type SourcePosition } from '../../../lib/source-maps/parsed-map.ts'
import type { Frame, SentryEvent } from './event.ts'

/** File of a folder; `path` below it, with slashes. */
type Listed = { folder: string; path: string }

/** Maps and scripts by the last part of their paths. Frames never name a file: only what is listed here is read. */
type Listing = { maps: Map<string, Listed[]>; scripts: Map<string, Listed[]> }

export const MAX_MAP_BYTES = 8 * 1024 * 1024
/** Files and folders that are looked at. */
const MAX_FILES = 10_000
/** Maps that one event may use. Parsing one takes up to 0.3 s. */
const MAX_MAPS = 3
/** Maps of which one event may read the debug ID. Later events read further ones. */
const MAX_IDS_READ = 1_000
const LISTED_MS = 30_000
/** Beginning and end of a file, in which bundlers write the debug ID or the name of the map. */
const EDGE_BYTES = 1024

export class SourceFolders {
  readonly #folders: readonly string[]
  readonly #now: () => number
  #listing: Promise<Listing> | undefined
  #listedAt = Number.NEGATIVE_INFINITY
  /** Debug IDs of maps by their paths; empty for none. Bundlers write a changed map under another name. */
  readonly #ids = new Map<string, string>()
  /** Last map in use. Only one is held: an error often uses one, and so does the next one. */
  #last: { file: string; modified: number; map: ParsedMap } | undefined
  /** Events are mapped one after the other, so that only one map is parsed at a time. */
  #turn: Promise<unknown> = Promise.resolve()

  /** `now` is in milliseconds. */
  constructor(folders: readonly string[], now: () => number) {
    this.#folders = folders
    this.#now = now
  }

  /** Returns the event with the frames that a map is found for in their source. Rejects when a folder cannot be read. */
  mapFrames(event: SentryEvent): Promise<SentryEvent> {
    const mapped = this.#turn.then(() => this.#map(event))
    this.#turn = mapped.catch(() => {})
    return mapped
  }

  async #map(event: SentryEvent): Promise<SentryEvent> {
    const listing = await this.#list()
    const frames = event.exception.flatMap(({ stacktrace }) => stacktrace?.frames ?? [])
    const debugIds = new Map(
      event.debug_meta.images.map((image) => [withoutQuery(image.code_file), image.debug_id?.toLowerCase()]),
    )
    const positions = new Map<Frame, SourcePosition>()
    const scripts = new Set(frames.flatMap((frame) => scriptOf(frame) ?? []))
    const origin = originOf(event.request?.url)
    for (const script of [...scripts].slice(0, MAX_MAPS)) {
      const isForeign = originOf(script) !== undefined && originOf(script) !== origin
      const wanted = { script, debugId: debugIds.get(script), isForeign }
      const map = await this.#find(listing, wanted).catch(() => undefined)
      if (!map) continue
      for (const frame of frames) {
        const { lineno, colno } = frame
        if (scriptOf(frame) !== script || lineno === undefined || colno === undefined) continue
        const position = map.positionAt(lineno, colno)
        if (position) positions.set(frame, position)
      }
    }
    const inSource = (frame: Frame) => {
      const position = positions.get(frame)
      return position ? frameAt(frame, position) : frame
    }
    return {
      ...event,
      exception: event.exception.map(({ stacktrace, ...exception }) => ({
        ...exception,
        stacktrace: stacktrace && { ...stacktrace, frames: stacktrace.frames.map(inSource) },
      })),
    }
  }

  /** Returns the map of a script: one with its debug ID, or else by name one without an ID. One of several candidates is none. */
  async #find(listing: Listing, { script, debugId, isForeign }: Wanted): Promise<ParsedMap | undefined> {
    const path = URL.canParse(script) ? new URL(script).pathname : script
    if (debugId !== undefined) {
      await this.#readIds(listing)
      const identified = listedIn(listing.maps).find((each) => this.#ids.get(fileOf(each)) === debugId)
      if (identified) return this.#read(fileOf(identified))
    }
    const named = nearest(listing.maps.get(`${basename(path)}.map`) ?? [], `${path}.map`)
    const likely = named.length > 0 ? named : await this.#linkedFrom(listing, path)
    const files = likely
      .filter((each) => debugId === undefined || !this.#ids.get(fileOf(each)))
      .filter((each) => !isForeign || isWhole(each, `${path}.map`))
    const [file, ...others] = files
    return file === undefined || others.length > 0 ? undefined : this.#read(fileOf(file))
  }

  /** Reads the debug IDs of maps that are new. */
  async #readIds({ maps }: Listing): Promise<void> {
    const listed = new Set(listedIn(maps).map(fileOf))
    for (const file of this.#ids.keys()) if (!listed.has(file)) this.#ids.delete(file)
    const unread = [...listed].filter((file) => !this.#ids.has(file))
    for (const file of unread.slice(0, MAX_IDS_READ)) {
      const [, id = ''] = DEBUG_ID.exec(await edgesOf(file).catch(() => '')) ?? []
      this.#ids.set(file, id.toLowerCase())
    }
  }

  /** Returns the map that a script of a folder names at its end. */
  async #linkedFrom({ maps, scripts }: Listing, path: string): Promise<Listed[]> {
    const [script, ...others] = nearest(scripts.get(basename(path)) ?? [], path)
    if (script === undefined || others.length > 0) return []
    const [, link = ''] = /\/\/# sourceMappingURL=([^\s'"]+)\s*$/.exec(await edgesOf(fileOf(script))) ?? []
    const linked = posix.join(posix.dirname(script.path), decode(link))
    return (maps.get(posix.basename(linked)) ?? []).filter(
      (each) => each.folder === script.folder && each.path === linked,
    )
  }

  async #read(file: string): Promise<ParsedMap | undefined> {
    const { mtimeMs: modified, size } = await stat(file)
    if (this.#last?.file === file && this.#last.modified === modified) return this.#last.map
    if (size > MAX_MAP_BYTES) return undefined
    this.#last = undefined
    const map = new ParsedMap(await readFile(file, 'utf8'))
    this.#last = { file, modified, map }
    return map
  }

  #list(): Promise<Listing> {
    if (!this.#listing || this.#now() - this.#listedAt > LISTED_MS) {
      this.#listedAt = this.#now()
      this.#listing = listFolders(this.#folders)
    }
    return this.#listing
  }
}

/** `isForeign`: on another host than the page. */
type Wanted = { script: string; debugId: string | undefined; isForeign: boolean }

const DEBUG_ID = /"debug_?[iI]d"\s*:\s*"([0-9a-fA-F-]{36})"/

async function edgesOf(file: string): Promise<string> {
  await using handle = await open(file)
  const { size } = await handle.stat()
  const read = async (position: number) => {
    const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(EDGE_BYTES), position })
    return buffer.toString('utf8', 0, bytesRead)
  }
  return `${await read(0)}\n${await read(Math.max(0, size - EDGE_BYTES))}`
}

/** Links are not followed: they may lead out of a folder. */
async function listFolders(folders: readonly string[]): Promise<Listing> {
  const listing: Listing = { maps: new Map(), scripts: new Map() }
  for (const folder of folders) {
    let left = MAX_FILES
    for await (const entry of await opendir(folder, { recursive: true })) {
      if (left-- === 0) break
      if (entry.isFile()) add(listing, { folder, path: pathOf(entry, folder) })
    }
  }
  return listing
}

function pathOf({ parentPath, name }: Dirent, folder: string): string {
  return relative(folder, join(parentPath, name)).replaceAll(sep, '/')
}

function add({ maps, scripts }: Listing, listed: Listed): void {
  const list = listed.path.endsWith('.map') ? maps : /\.[cm]?js$/.test(listed.path) ? scripts : undefined
  const name = posix.basename(listed.path)
  list?.set(name, [...(list.get(name) ?? []), listed])
}

function listedIn(list: ReadonlyMap<string, Listed[]>): Listed[] {
  return [...list.values()].flat()
}

function fileOf({ folder, path }: Listed): string {
  return join(folder, path)
}

/** Returns how many parts at the end of two paths are equal. */
function likenessOf(a: string, b: string): number {
  const [parts, others] = [a.split('/').reverse(), b.split('/').reverse()]
  const differs = parts.findIndex((part, index) => part !== others[index])
  return differs === -1 ? parts.length : differs
}

/** Returns the files that end most like this path, of these those with the shortest paths: several when they are equal. */
function nearest(listed: readonly Listed[], path: string): Listed[] {
  const most = Math.max(...listed.map((each) => likenessOf(each.path, path)))
  const alike = listed.filter((each) => likenessOf(each.path, path) === most)
  const shortest = Math.min(...alike.map((each) => each.path.split('/').length))
  return alike.filter((each) => each.path.split('/').length === shortest)
}

/** Reports whether the whole path below the folder, with at least one folder in it, is that of the script. */
function isWhole({ path }: Listed, script: string): boolean {
  const parts = path.split('/').length
  return parts > 1 && likenessOf(path, script) === parts
}

function originOf(url: string | undefined): string | undefined {
  return url !== undefined && /^https?:/.test(url) && URL.canParse(url) ? new URL(url).origin : undefined
}

function scriptOf({ abs_path: path, filename }: Frame): string | undefined {
  return withoutQuery(path || filename)
}

function withoutQuery(url: string | undefined): string | undefined {
  return url?.replace(/[?#].*$/, '')
}

function frameAt(frame: Frame, { source, line, column, code }: SourcePosition): Frame {
  const file = decode(source).replace(PREFIX, '')
  return {
    ...{ ...frame, filename: file, abs_path: undefined, lineno: line, colno: column },
    in_app: !/(^|\/)node_modules\//.test(file),
    ...(code && { context_line: code.line, pre_context: code.before, post_context: code.after }),
  }
}

function decode(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

/** Schemes and folders that bundlers put before the path of a source. */
const PREFIX = /^(?:(?:webpack|turbopack|webpack-internal):\/\/\/?)?(?:(?:_N_E|\[project\]|\.{1,2})\/)*/
