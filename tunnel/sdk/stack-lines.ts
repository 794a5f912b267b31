/** Parsers for the lines of a stack. */

import { defaultStackLineParsers } from '@sentry/browser'
import type { StackLineParser } from '@sentry/core'

/** Before those of the SDK, which take `open@blob:` for the name of a function in Firefox and WebKit. */
const PRIORITY = 40

/** Reads `open@blob:https://shop.example/0d0c:1:20`, whose name may be missing. */
const blobLine: StackLineParser = [
  PRIORITY,
  (line) => {
    const [, name, filename, lineno, colno] = /^(?:([^@]*)@)?(blob:.+?):(\d+):(\d+)$/.exec(line) ?? []
    return filename
      ? { function: name || '?', filename, lineno: Number(lineno), colno: Number(colno), in_app: true }
      : undefined
  },
]

export const STACK_LINES = [blobLine, ...defaultStackLineParsers]
