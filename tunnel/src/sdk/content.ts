/** Static content in several encodings, with ETags. */

import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { brotliCompressSync, gzipSync } from 'node:zlib'

type Encoding = 'br' | 'gzip' | 'identity'

export type Content = {
  /** Hash of the unencoded bytes. */
  hash: string
  bodies: Readonly<Record<Encoding, Uint8Array<ArrayBuffer>>>
}

/** Makes content of bytes. Compressed copies that are not given are made here. */
export function createContent(
  identity: Buffer<ArrayBuffer>,
  { gzip = gzipSync(identity), br = brotliCompressSync(identity) }: Partial<Content['bodies']> = {},
): Content {
  const hash = createHash('sha256').update(identity).digest('hex').slice(0, 32)
  return { hash, bodies: { identity, gzip, br } }
}

/** Response to a GET request: 200 with the best encoding, or 304. `cache` is the value of `Cache-Control`. */
export function respondWith(content: Content, headers: IncomingHttpHeaders, cache: string): Response {
  const encoding = chooseEncoding(headers['accept-encoding'])
  const etag = `"${content.hash}-${encoding}"`
  const isKnown = matches(headers['if-none-match'], etag)
  const body = content.bodies[encoding]
  return new Response(isKnown ? null : body, {
    status: isKnown ? 304 : 200,
    headers: {
      'cache-control': cache,
      etag,
      vary: 'accept-encoding',
      ...(!isKnown && {
        'content-type': 'text/javascript; charset=utf-8',
        'content-length': String(body.length),
        'x-content-type-options': 'nosniff',
        ...(encoding !== 'identity' && { 'content-encoding': encoding }),
      }),
    },
  })
}

/** Returns the smallest encoding that the client accepts (RFC 9110, 12.5.3). */
export function chooseEncoding(acceptEncoding: string | string[] | undefined): Encoding {
  const accepted = new Map(
    String(acceptEncoding ?? '')
      .toLowerCase()
      .split(',')
      .map((part): [string, boolean] => {
        const [name = '', ...parameters] = part.split(';').map((text) => text.trim())
        return [name, !parameters.some((text) => /^q=0(\.0*)?$/.test(text))]
      }),
  )
  const isAccepted = (name: string) => accepted.get(name) ?? accepted.get('*') ?? false
  return (['br', 'gzip'] as const).find(isAccepted) ?? 'identity'
}

/** Compares weakly, as RFC 9110 (13.1.2) says. */
function matches(ifNoneMatch: string | undefined, etag: string): boolean {
  const tags = (ifNoneMatch ?? '').split(',').map((text) => text.trim().replace(/^W\//, ''))
  return tags.includes(etag) || tags.includes('*')
}
