/** Stack frames of the server in the source code, by the source maps that the build has put beside its files. */

import { readFileSync, statSync } from 'node:fs'
import { SourceMap, type SourceMapPayload } from 'node:module'
import { join, normalize } from 'node:path'
import type { Event, StackFrame } from '@sentry/core'

/** Larger maps are those of packages; a parsed one takes some ten times its size. */
export const MAX_MAP_BYTES = 1024 * 1024 // 1 MiB

/** Name that the SDK gives to files of the build, below the folder of the server. */
const BUILT = /^app:\/\/\/_next\/(server\/.+\.js)$/
const OWN = /^(?:\.\.\/)+((?:web|tunnel)\/.+)$/
const CONTEXT_LINES = 3

type Indexed = SourceMapPayload & { sections?: { map: SourceMapPayload }[] }

/** Maps the frames of an error. Frames without a map, and those of packages, stay. `folder` is that of the build, `.next`. */
export function mapFrames<T extends Event>(event: T, folder: string): T {
  const maps = new Map<string, LoadedMap | undefined>()
  const loadOnce = (file: string) => {
    if (!maps.has(file)) maps.set(file, load(join(folder, `${file}.map`)))
    return maps.get(file)
  }
  for (const { stacktrace } of event.exception?.values ?? [])
    for (const frame of stacktrace?.frames ?? []) {
      const [, file] = BUILT.exec(frame.filename ?? '') ?? []
      if (file && normalize(file) === file) mapFrame(frame, loadOnce(file))
    }
  return event
}

type LoadedMap = { map: SourceMap; contentOf: (source: string) => string | undefined }

function load(file: string): LoadedMap | undefined {
  try {
    if (statSync(file).size > MAX_MAP_BYTES) return undefined
    const payload: Indexed = JSON.parse(readFileSync(file, 'utf8'))
    const parts = payload.sections?.map(({ map }) => map) ?? [payload]
    const contentOf = (source: string) =>
      parts.map((part) => part.sourcesContent?.[part.sources.indexOf(source)]).find(Boolean)
    return { map: new SourceMap(payload), contentOf }
  } catch {
    return undefined // no map, as when the build has uploaded them to Sentry
  }
}

function mapFrame(frame: StackFrame, loaded: LoadedMap | undefined): void {
  const { lineno = 0, colno = 0 } = frame
  const entry = loaded?.map.findEntry(lineno - 1, colno - 1)
  if (!loaded || !entry || !('originalSource' in entry)) return
  const [, source] = OWN.exec(entry.originalSource) ?? []
  if (source === undefined) return
  const lines = loaded.contentOf(entry.originalSource)?.split('\n') ?? []
  const line = entry.originalLine
  Object.assign(frame, {
    ...{
      filename: `app:///${decodeURIComponent(source)}`,
      lineno: line + 1,
      colno: entry.originalColumn + 1,
      in_app: true,
    },
    ...(lines[line] !== undefined && {
      pre_context: lines.slice(Math.max(0, line - CONTEXT_LINES), line),
      context_line: lines[line],
      post_context: lines.slice(line + 1, line + 1 + CONTEXT_LINES),
    }),
  })
}
