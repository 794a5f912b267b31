/** An upper bound of the work that parsing a JSON text takes. */

const COMMA = 0x2c
const OPEN_BRACKET = 0x5b
const OPEN_BRACE = 0x7b

/** Counts the values that a JSON text can hold at most: each but the first follows a comma or the beginning of an object or array. */
export function mostValues(json: Uint8Array): number {
  let values = 1
  for (let at = 0; at < json.length; at++) {
    const byte = json[at]
    if (byte === COMMA || byte === OPEN_BRACKET || byte === OPEN_BRACE) values++
  }
  return values
}
