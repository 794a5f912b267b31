/** Browser and operating system that an event names, or that its User-Agent header names. */

import { type Json, list, object, scalarText as text } from './json.ts'

/** Names that stand beside those of another browser come first. */
const BROWSERS: readonly (readonly [name: string, version: RegExp])[] = [
  ['Edge', /\bEdg(?:e|A|iOS)?\/(\d+)/],
  ['Opera', /\b(?:OPR|OPT|Opera)\/(\d+)/],
  ['Samsung Internet', /\bSamsungBrowser\/(\d+)/],
  ['Firefox', /\b(?:Firefox|FxiOS)\/(\d+)/],
  ['Chrome', /\b(?:Headless)?(?:Chrome|CriOS)\/(\d+)/],
  ['Safari', /\bVersion\/(\d+(?:\.\d+)?).* Safari\//],
]

/** Versions of Windows, macOS and Linux are left out: browsers send the same one for all. */
const SYSTEMS: readonly (readonly [name: string, pattern: RegExp])[] = [
  ['Windows', /\bWindows NT\b/],
  ['Android', /\bAndroid (\d+)/],
  ['iOS', /\b(?:iPhone|CPU) OS (\d+(?:_\d+)?)/],
  ['ChromeOS', /\bCrOS\b/],
  ['macOS', /\bMac OS X\b/],
  ['Linux', /\bLinux\b/],
]

const MAX_LENGTH = 500 // of a User-Agent that is read

/** Returns an empty text for an event with neither. */
export function browserOf(event: Json): string {
  return ofContext(event, 'browser') || match(userAgentOf(event), BROWSERS)
}

/** Like `browserOf`, for the operating system. */
export function systemOf(event: Json): string {
  return ofContext(event, 'os') || match(userAgentOf(event), SYSTEMS)
}

function ofContext({ contexts }: Json, name: string): string {
  const context = object(object(contexts)[name])
  return text(context.name) && [text(context.name), text(context.version)].filter(Boolean).join(' ')
}

/** Headers are an object or a list of pairs. */
function userAgentOf({ request }: Json): string {
  const { headers } = object(request)
  const pairs = Array.isArray(headers) ? headers.map(list) : Object.entries(object(headers))
  const [, value] = pairs.find(([name]) => text(name).toLowerCase() === 'user-agent') ?? []
  return text(value).slice(0, MAX_LENGTH)
}

function match(userAgent: string, patterns: typeof BROWSERS): string {
  for (const [name, pattern] of patterns) {
    const found = pattern.exec(userAgent)
    if (found) return [name, found[1]?.replace('_', '.')].filter(Boolean).join(' ')
  }
  return ''
}
