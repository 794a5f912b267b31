/** Types and functions that declare rows of the table of settings. */

import type * as is from './parsers.ts'

/** Process that reads a setting: `compose` is Docker Compose (and `npm start`). */
export type Process = 'nginx' | 'tunnel' | 'web' | 'compose'

type Options = {
  /** Default as the documentation states it, where it depends on other settings. */
  defaultText?: string
  /** Not shown anywhere. */
  secret?: true
  /** `NAME_FILE` may name a file that holds the value. */
  hasFile?: true
  /** The file need not exist. */
  isFileOptional?: true
  /** Compose mounts the file that the value names. */
  isMounted?: true
  /** A variable that other programs read too, in upper or lower case. */
  isProxy?: true
}

export type Row<T, D> = is.Kind<T> & Options & { default: D; help: string }

export type Setting<T = unknown, D = unknown> = Row<T, D> & {
  section: string
  readBy: readonly Process[]
}

/** Declares a setting by its kind of value, its default and one line of help in Markdown. */
export function setting<T, D extends T | undefined>(
  kind: is.Kind<T>,
  byDefault: D,
  help: string,
  options: Options = {},
): Row<T, D> {
  return { ...kind, ...options, default: byDefault, help }
}

type Section<Rows> = { [Name in keyof Rows]: Rows[Name] & { section: string; readBy: readonly Process[] } }

/** Declares settings that the same processes read. */
export function section<Rows extends Record<string, Row<unknown, unknown>>>(
  title: string,
  readBy: readonly Process[],
  rows: Rows,
): Section<Rows> {
  const entries = Object.entries(rows).map(([name, row]) => [name, { ...row, section: title, readBy }])
  return Object.fromEntries(entries) as Section<Rows> // the same names
}
