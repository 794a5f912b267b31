/** Messages with parameters, formatted as Relay does before it filters (relay-event-normalization/src/logentry.rs). */

import { isObject } from 'contract/json'

const PRINTF = /%(?:\((\w+)\))?[-+ #0]*\d*(?:\.\d+)?(?:[sdifeEgGoxXcrap]|(%))/g
const CURLY = /\{\{|\}\}|\{(\w*)(?:[:!][^{}]*)?\}/g

/** Puts parameters, a list or an object, in the place of `%s`, `%(name)s`, `{}`, `{0}` and `{name}`. Returns the message as it is if one is missing. */
export function formatMessage(message: string, params: unknown): string {
  if (!Array.isArray(params) && !isObject(params)) return message
  const values = new Map(Object.entries(params))
  let next = 0
  let isMissing = false
  const parameter = (name = ''): string => {
    const value = values.get(name === '' ? String(next++) : name)
    if (value === undefined || value === null) isMissing = true
    return typeof value === 'string' ? value : JSON.stringify(value)
  }
  const printed = message.replace(PRINTF, (_, name, percent) => percent ?? parameter(name))
  const formatted =
    printed === message
      ? message.replace(CURLY, (part, name) => (name === undefined ? part.charAt(0) : parameter(name)))
      : printed
  return isMissing ? message : formatted
}
