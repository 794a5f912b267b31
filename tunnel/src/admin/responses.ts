/** Answers that several routes of the admin port give. */

import type { Context, Handler, MiddlewareHandler } from 'hono'

/** To every method but those before it. */
export function onlyWith(allowed: string): Handler {
  return (c) => c.json({ detail: `Here one can ${allowed}.` }, 405, { allow: allowed })
}

/** The first thing said in the query that means nothing here, or is said twice; `undefined` when there is none. */
export function strayIn(c: Context, known: readonly string[]): string | undefined {
  const stray = Object.entries(c.req.queries()).find(
    ([name, said]) => !known.includes(name) || said.length > 1,
  )
  if (!stray) return undefined
  const [name] = stray
  if (known.includes(name)) return `${name} is said twice; say it once.`
  return known.length > 0
    ? `"${name.slice(0, 40)}" says nothing here; what can be said is ${known.join(', ')}.`
    : `"${name.slice(0, 40)}" says nothing here; nothing can be said but the path.`
}

/** To whoever says what means nothing here: it would be passed over, and something else done than was meant. */
export function onlySaying(...known: string[]): MiddlewareHandler {
  return async function refuseStray(c, next) {
    const stray = strayIn(c, known)
    return stray === undefined ? next() : c.json({ detail: stray }, 400)
  }
}

/** An envelope is data of strangers: handed out as a download that nothing may run. */
export function download(c: Context, envelope: Uint8Array<ArrayBuffer> | ReadableStream): Response {
  return c.body(envelope, 200, {
    'content-type': 'application/x-sentry-envelope',
    'content-disposition': 'attachment',
    'x-content-type-options': 'nosniff',
  })
}
