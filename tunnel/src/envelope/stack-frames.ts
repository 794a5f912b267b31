/** Frames of JavaScript stacks, which each browser names in its own way. */

import { type Json, scalarText as text } from 'contract/json'

/** Functions without a name: V8, SDK, WebKit. */
const UNNAMED = /^(?:\?|<?anonymous>?|\(anonymous\)|(?:global|module|eval) code)$/
/** Files of functions that the engine has built in: V8 and WebKit. Firefox has no frames for them. */
const BUILT_IN = new Set(['<anonymous>', '[native code]', 'native'])
const MAX_NAME = 300

/** Start of the name of a function that has called the next ones earlier: V8's `async pay`, Firefox's `async*pay` and `setTimeout handler*pay`. */
const ASYNC = /^(?:async |[^*]+\*)/

/** Returns the frames that a stack has in each browser: without callers before an `await`, and without built-in functions such as `Array.map`. */
export function framesAlike(frames: readonly Json[], event: Json): readonly Json[] {
  if (!isJavaScript(event)) return frames
  const called = frames.slice(1 + frames.findLastIndex((frame) => ASYNC.test(text(frame.function))))
  const own = called.filter((frame) => !BUILT_IN.has(text(frame.filename) || text(frame.abs_path)))
  return own.length > 0 ? own : frames
}

/** Returns the name of a frame's function, which is the same in each browser. */
export function functionOf(frame: Json, event: Json): string {
  const name = text(frame.function)
  return isJavaScript(event) ? plainFunctionName(name) : name
}

/** Tells if an event may come from a browser. In other languages, the receiver tells functions apart. */
function isJavaScript({ platform }: Json): boolean {
  return platform === undefined || platform === 'javascript' || platform === 'node'
}

/**
 * Returns the name of a function alone. V8 writes `Cart.total`, `new Cart`, `async Cart.pay` and `Cart.<anonymous>`, where Firefox and
 * WebKit write `total`, `Cart`, `pay` and nothing. Firefox writes `total/<` for a function without a name in `total`.
 */
function plainFunctionName(name: string): string {
  const plain = name
    .slice(0, MAX_NAME)
    .replace(/ \[as [^\]]*\]$/, '')
    .replace(ASYNC, '')
    .replace(/^(?:new|bound) /, '')
    .replace(/^(?!.*\.\/)[^ ]*\//, '') // the functions around it; `./cart.js` is a module
    .replace(/^(?:[^.[\]<>\s]+\.)+(?=.)/, '') // the receiver
    .replace(/^(?:get|set|static) /, '')
  return plain.endsWith('<') || UNNAMED.test(plain) ? '' : plain
}
