/** Routes and responses of the admin port. */

import type { Context, Handler, Hono } from 'hono'

/** Action on a path. `query` lists the parameters of a change. */
export type Action = { query?: readonly string[]; run: (c: Context) => object | Promise<object> }

type Method = 'GET' | 'POST' | 'DELETE'

/** Request that cannot be fulfilled. */
export class RequestError extends Error {
  readonly status: 400 | 404 | 409

  constructor(status: 400 | 404 | 409, detail: string) {
    super(detail)
    this.status = status
  }
}

/** Adds the actions of a path. Other methods get 405. */
export function addRoute(app: Hono, path: string, actions: { [method in Method]?: Action }): void {
  for (const [method, action] of Object.entries(actions)) app.on(method, path, createHandler(action))
  const allowed = Object.keys(actions).join(', ')
  app.all(path, (c) => c.json({ detail: `Allowed here: ${allowed}.` }, 405, { allow: allowed }))
}

/**
 * Creates a handler that sends the result of an action as JSON. Repeated parameters get 400, and unknown ones of a change, which could do more
 * than was meant without them. Reading ignores unknown ones: web may be of a newer release.
 */
export function createHandler({ query = [], run }: Action): Handler {
  return async function runAction(c) {
    try {
      checkParameters(c, query)
      const result = await run(c)
      return result instanceof Response ? result : c.json(result)
    } catch (error) {
      if (error instanceof RequestError) return c.json({ detail: error.message }, error.status)
      throw error
    }
  }
}

function checkParameters(c: Context, known: readonly string[]): void {
  const isChange = c.req.method !== 'GET' && c.req.method !== 'HEAD'
  for (const [name, values] of Object.entries(c.req.queries())) {
    if (isChange && !known.includes(name)) {
      const parameters = known.length > 0 ? `Parameters: ${known.join(', ')}.` : 'There are none here.'
      throw new RequestError(400, `"${name.slice(0, 40)}" is not a parameter. ${parameters}`)
    }
    if (values.length > 1) throw new RequestError(400, `${name} is given twice; give it once.`)
  }
}

/** Parameters of a query, or members of a body, as the operator wrote them. */
export type Given = Readonly<Record<string, unknown>>

/** Reads a whole number from 1 to `max`; `undefined` without the parameter. */
export function readNumber(given: Given, name: string, max: number, unit = ''): number | undefined {
  const value = readWhole(given, name)
  if (value === undefined || (value >= 1 && value <= max)) return value
  throw new RequestError(400, `${name} is a number ${unit}from 1 to ${max}.`)
}

/** Reads a whole number of up to 15 digits; `undefined` without the parameter. */
export function readWhole(given: Given, name: string): number | undefined {
  const value = given[name]
  if (value === undefined) return undefined
  if (/^\d{1,15}$/.test(String(value))) return Number(value)
  throw new RequestError(400, `${name} is a whole number; times are in milliseconds since 1970.`)
}

/** Sends an envelope, which is data of strangers, as a download that no browser runs. */
export function download(c: Context, envelope: Uint8Array<ArrayBuffer> | ReadableStream): Response {
  return c.body(envelope, 200, {
    'content-type': 'application/x-sentry-envelope',
    'content-disposition': 'attachment',
    'x-content-type-options': 'nosniff',
  })
}
