/** Reads untrusted JSON, of which each member may be missing or of any type. */

export type Json = Readonly<Record<string, unknown>>

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function isNumber(value: unknown): value is number {
  return typeof value === 'number'
}

export function object(value: unknown): Json {
  return isObject(value) ? value : {}
}

export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** Returns an empty text for anything but a text. */
export function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** Returns texts, numbers and booleans as a text; an empty one for anything else. */
export function scalarText(value: unknown): string {
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : text(value)
}
