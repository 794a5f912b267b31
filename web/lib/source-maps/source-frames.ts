/** Stack frames of the server in the source code, by the source maps that the build has put beside its files. */

import { readFileSync, statSync } from 'node:fs'
import { join, normalize } from 'node:path'
import type { Event, StackFrame } from '@sentry/core'
import { ParsedMap } from './parsed-map.ts'

/** Larger maps are those of packages. */
export const MAX_MAP_BYTES = 1024 * 1024 // 1 MiB

/** Name that the SDK gives to files of the build, below the folder of the server. */
const BUILT = /^app:\/\/\/_next\/(server\/.+\.js)$/
const OWN = /^(?:\.\.\/)+((?:web|tunnel)\/.+)$/

/** Maps the frames of an error. Frames without a map, and those of packages, stay. `folder` is that of the build, `.next`. */
export function mapFrames<T extends Event>(event: T, folder: string): T {
  const maps = new Map<string, ParsedMap | undefined>()
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

function load(file: string): ParsedMap | undefined {
  try {
    return statSync(file).size > MAX_MAP_BYTES ? undefined : new ParsedMap(readFileSync(file, 'utf8'))
  } catch {
    return undefined // no map, as when the build has uploaded them to Sentry
  }
}

function mapFrame(frame: StackFrame, map: ParsedMap | undefined): void {
  const { lineno = 0, colno = 0 } = frame
  const position = map?.positionAt(lineno, colno)
  const [, source] = OWN.exec(position?.source ?? '') ?? []
  if (!position || source === undefined) return
  const { line, column, code } = position
  Object.assign(frame, {
    ...{ filename: `app:///${decodeURIComponent(source)}`, lineno: line, colno: column, in_app: true },
    ...(code && { pre_context: code.before, context_line: code.line, post_context: code.after }),
  })
}
