/** Frames of minified scripts in their source, by the maps in the folder of SOURCE_MAPS, as bundlers write them. */

import type { Dirent } from 'node:fs'
import { open, opendir, readFile, stat } from 'node:fs/promises'
import { basename, join, posix, relative, sep } from 'node:path'
import { ParsedMap, type SourcePosition } from '../../../lib/source-maps/parsed-map.ts'
import type { Frame, SentryEvent } from './event.ts'

/** Files of the folder. Frames never name a path: only what is listed here is read. */
type Listing = {
  /** Paths of maps and of scripts in the folder, with slashes, by their last part. */
  maps: Map<string, string[]>
  scripts: Map<string, string[]>
}

/** A larger map would take too much memory of web. */
export const MAX_MAP_BYTES = 10 * 1024 * 1024
/** Files and folders that are looked at. */
const MAX_FILES = 10_000
/** Maps that one event may use. */
const MAX_MAPS = 8
/** Maps of which one event may read the debug ID. Later events read further ones. */
const MAX_IDS_READ = 1_000
const LISTED_MS = 30_000
/** Beginning and end of a file, in which bundlers write the debug ID or the name of the map. */
const EDGE_BYTES = 1024

export class SourceFolder {
  readonly #folder: string
  readonly #now: () => number
  #listing: Promise<Listing> | undefined
  #listedAt = Number.NEGATIVE_INFINITY
  /** Debug IDs of maps by path; empty for none. Bundlers write a changed map under another name. */
  readonly #ids = new Map<string, string>()
  /** Last map in use. Only one is held: an error often uses one, and so does the next one. */
  #last: { file: string; modified: number; map: ParsedMap } | undefined
  /** Events are mapped one after the other, so that only one map is parsed at a time. */
  #turn: Promise<unknown> = Promise.resolve()

  /** `now` is in milliseconds. */
  constructor(folder: string, now: () => number) {
    this.#folder = folder
    this.#now = now
  }

  /** Returns the event with the frames that a map is found for in their source. Rejects when the folder cannot be read. */
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
    for (const script of [...scripts].slice(0, MAX_MAPS)) {
      const map = await this.#find(listing, script, debugIds.get(script)).catch(() => undefined)
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

  /** Returns the map of a script: the one with its debug ID, or else by name one without an ID. One of several candidates is none. */
  async #find(listing: Listing, script: string, debugId: string | undefined): Promise<ParsedMap | undefined> {
    const path = URL.canParse(script) ? new URL(script).pathname : script
    if (debugId !== undefined) await this.#readIds(listing)
    const identified =
      debugId === undefined ? [] : [...this.#ids].filter(([, id]) => id === debugId).map(([file]) => file)
    const named = nearest(listing.maps.get(`${basename(path)}.map`) ?? [], `${path}.map`)
    const likely = named.length > 0 ? named : await this.#linkedFrom(listing, path)
    const files =
      identified.length > 0
        ? nearest(identified, `${path}.map`)
        : likely.filter((file) => debugId === undefined || !this.#ids.get(file))
    const [file, ...others] = files
    return file === undefined || others.length > 0 ? undefined : this.#read(file)
  }

  /** Reads the debug IDs of maps that are new. */
  async #readIds({ maps }: Listing): Promise<void> {
    const listed = new Set([...maps.values()].flat())
    for (const file of this.#ids.keys()) if (!listed.has(file)) this.#ids.delete(file)
    const unread = [...listed].filter((file) => !this.#ids.has(file))
    for (const file of unread.slice(0, MAX_IDS_READ)) {
      const [, id = ''] = DEBUG_ID.exec(await this.#edgesOf(file).catch(() => '')) ?? []
      this.#ids.set(file, id.toLowerCase())
    }
  }

  /** Returns the map that a script of the folder names at its end. */
  async #linkedFrom({ maps, scripts }: Listing, path: string): Promise<string[]> {
    const [script, ...others] = nearest(scripts.get(basename(path)) ?? [], path)
    if (script === undefined || others.length > 0) return []
    const [, link = ''] = /\/\/# sourceMappingURL=([^\s'"]+)\s*$/.exec(await this.#edgesOf(script)) ?? []
    const linked = posix.join(posix.dirname(script), decode(link))
    return (maps.get(posix.basename(linked)) ?? []).filter((each) => each === linked)
  }

  async #read(file: string): Promise<ParsedMap | undefined> {
    const path = join(this.#folder, file)
    const { mtimeMs: modified, size } = await stat(path)
    if (this.#last?.file === file && this.#last.modified === modified) return this.#last.map
    if (size > MAX_MAP_BYTES) return undefined
    this.#last = undefined
    const map = new ParsedMap(await readFile(path, 'utf8'))
    this.#last = { file, modified, map }
    return map
  }

  async #edgesOf(file: string): Promise<string> {
    await using handle = await open(join(this.#folder, file))
    const { size } = await handle.stat()
    const read = async (position: number) => {
      const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(EDGE_BYTES), position })
      return buffer.toString('utf8', 0, bytesRead)
    }
    return `${await read(0)}\n${await read(Math.max(0, size - EDGE_BYTES))}`
  }

  #list(): Promise<Listing> {
    if (!this.#listing || this.#now() - this.#listedAt > LISTED_MS) {
      this.#listedAt = this.#now()
      this.#listing = listFolder(this.#folder)
    }
    return this.#listing
  }
}

const DEBUG_ID = /"debug_?[iI]d"\s*:\s*"([0-9a-fA-F-]{36})"/

/** Links are not followed: they may lead out of the folder. */
async function listFolder(folder: string): Promise<Listing> {
  const listing: Listing = { maps: new Map(), scripts: new Map() }
  let left = MAX_FILES
  for await (const entry of await opendir(folder, { recursive: true })) {
    if (left-- === 0) break
    if (entry.isFile()) add(listing, pathOf(entry, folder))
  }
  return listing
}

function pathOf({ parentPath, name }: Dirent, folder: string): string {
  return relative(folder, join(parentPath, name)).replaceAll(sep, '/')
}

function add({ maps, scripts }: Listing, path: string): void {
  const list = path.endsWith('.map') ? maps : /\.[cm]?js$/.test(path) ? scripts : undefined
  const name = posix.basename(path)
  list?.set(name, [...(list.get(name) ?? []), path])
}

/** Returns the paths that end most like this one: several when they are equally near. */
function nearest(paths: readonly string[], path: string): string[] {
  const parts = path.split('/').reverse()
  const likeness = (each: string) => {
    const own = each.split('/').reverse()
    const differs = own.findIndex((part, index) => part !== parts[index])
    return differs === -1 ? own.length : differs
  }
  const most = Math.max(...paths.map(likeness))
  return paths.filter((each) => likeness(each) === most)
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
