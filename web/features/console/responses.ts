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
  return download(envelope, `${id.replaceAll(/[^\w-]/g, '')}.envelope`)
}

/** Untrusted file as a download. With the type of an image, browsers show it. */
export function download(content: ReadableStream<Uint8Array>, name: string, image?: string): Response {
  return new Response(content, {
    headers: {
      'content-type': image ?? 'application/octet-stream',
      'content-disposition': image ? 'inline' : `attachment; filename="${name}"`,
      'x-content-type-options': 'nosniff',
      'cache-control': 'private, no-store',
    },
  })
}
