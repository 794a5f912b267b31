/** Encodings and ETags of static content. */

import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { chooseEncoding, createContent, respondWith } from '../../../tunnel/src/sdk/content.ts'

describe('chooseEncoding', () => {
  it.each([
    [undefined, 'identity'],
    ['', 'identity'],
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip, deflate', 'gzip'],
    ['GZIP;q=0.5', 'gzip'],
    ['br;q=0, gzip', 'gzip'],
    ['br; q=0.000, *;q=0', 'identity'],
    ['*', 'br'],
    ['br;q=0, *', 'gzip'],
    ['deflate', 'identity'],
    ['gzipped, brotli', 'identity'],
  ])('reads %j as %s', (header, encoding) => {
    expect(chooseEncoding(header)).toBe(encoding)
  })
})

describe('respondWith', () => {
  const content = createContent(Buffer.from('text'))

  it('sends the bytes in the encoding that it names', async () => {
    const response = respondWith(content, { 'accept-encoding': 'gzip' }, 'no-cache')
    const body = Buffer.from(await response.arrayBuffer())
    expect(gunzipSync(body).toString()).toBe('text')
    expect(response.status).toBe(200)
    expect(Object.fromEntries(response.headers)).toEqual({
      'cache-control': 'no-cache',
      'content-encoding': 'gzip',
      'content-length': String(body.length),
      'content-type': 'text/javascript; charset=utf-8',
      etag: `"${content.hash}-gzip"`,
      vary: 'accept-encoding',
      'x-content-type-options': 'nosniff',
    })
  })

  it.each(['E', 'W/E', '"other", E', '*'])('responds with 304 to If-None-Match: %s', async (header) => {
    const etag = `"${content.hash}-identity"`
    const response = respondWith(content, { 'if-none-match': header.replace('E', etag) }, 'no-cache')
    expect(response.status).toBe(304)
    expect(await response.text()).toBe('')
    expect(response.headers.get('etag')).toBe(etag)
    expect(response.headers.get('content-length')).toBeNull()
  })

  it('responds with 200 to the ETag of another encoding', () => {
    const headers = { 'if-none-match': `"${content.hash}-br"`, 'accept-encoding': 'gzip' }
    expect(respondWith(content, headers, 'no-cache').status).toBe(200)
  })
})
