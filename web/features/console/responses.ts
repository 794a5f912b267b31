/** What routes of the console answer with. */

export function notSignedIn(): Response {
  return Response.json(
    { detail: 'Sign in at /console.' },
    { status: 401, headers: { 'cache-control': 'no-store' } },
  )
}

export function events(stream: ReadableStream<Uint8Array>): Response {
  return new Response(stream, {
    headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store, no-transform' },
  })
}

/** Back to a page after something was done there. */
export function seeOther(path: string): Response {
  return new Response(null, { status: 303, headers: { location: path, 'cache-control': 'no-store' } })
}

/** A stranger's envelope as a download. */
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
