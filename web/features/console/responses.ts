/** Responses of the console's routes. */

const NO_STORE = { 'cache-control': 'no-store' }

export function problem(status: number, detail: string): Response {
  return Response.json({ detail }, { status, headers: NO_STORE })
}

export function notSignedIn(): Response {
  return problem(401, 'Sign in at /console.')
}

export function notThisSite(): Response {
  return problem(403, 'Send this request from a page of this site.')
}

export function events(stream: ReadableStream<Uint8Array>): Response {
  return new Response(stream, {
    headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store, no-transform' },
  })
}

/** Redirects to a page after an action. */
export function seeOther(path: string): Response {
  return new Response(null, { status: 303, headers: { location: path, ...NO_STORE } })
}

/** Untrusted envelope as a download. */
export function envelopeFile(id: string, envelope: ReadableStream<Uint8Array>): Response {
  return new Response(envelope, {
    headers: {
      'content-type': 'application/octet-stream',
      'content-disposition': `attachment; filename="${id.replaceAll(/[^\w-]/g, '')}.envelope"`,
      'x-content-type-options': 'nosniff',
      'cache-control': 'private, no-store',
    },
  })
}
