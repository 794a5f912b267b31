/** Answers that several routes of the admin port give. */

import type { Context, Handler } from 'hono'

/** To every method but those before it. */
export function onlyWith(allowed: string): Handler {
  return (c) => c.json({ detail: `Here one can ${allowed}.` }, 405, { allow: allowed })
}

/** An envelope is data of strangers: handed out as a download that nothing may run. */
export function download(c: Context, envelope: Uint8Array<ArrayBuffer> | ReadableStream): Response {
  return c.body(envelope, 200, {
    'content-type': 'application/x-sentry-envelope',
    'content-disposition': 'attachment',
    'x-content-type-options': 'nosniff',
  })
}
