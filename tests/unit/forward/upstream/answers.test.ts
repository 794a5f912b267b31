/** Responses that decide on an envelope, and the text of those that do not. */

import { describe, expect, it } from 'vitest'
import { isDecision, isRefusal, sentenceOf } from '../../../../tunnel/src/forward/upstream/answers.ts'

const JSON_TYPE = 'application/json'
const HTML = 'text/html; charset=utf-8'
const page = (title: string) =>
  `<!doctype html>\n<html><head><title>${title}</title><style>h1 {}</style></head><body><h1>${title}</h1></body></html>`

describe('isDecision', () => {
  it.each<[status: number, contentType: string | undefined, body: string]>([
    [200, JSON_TYPE, '{"id":"a"}'],
    [200, HTML, ''], // Bugsink
    [200, undefined, '{}'],
    [202, 'text/plain', ''],
    [204, undefined, ''],
    [400, JSON_TYPE, '{"message":"no"}'], // Bugsink
    [400, JSON_TYPE, '{"detail":"no"}'],
    [400, undefined, ''],
    [403, JSON_TYPE, '{"detail":"Denied"}'],
    [405, JSON_TYPE, '{"detail":"no"}'],
    [413, JSON_TYPE, '{"message":"big"}'],
    [413, HTML, 'Request body exceeded settings.DATA_UPLOAD_MAX_MEMORY_SIZE.'], // GlitchTip
    [415, JSON_TYPE, '{"detail":"no"}'],
    [429, HTML, 'Too Many Requests'],
    [429, HTML, page('429 Too Many Requests')],
  ])('accepts %i as %s: %s', (status, contentType, body) => {
    expect(isDecision(status, contentType, Buffer.from(body))).toBe(true)
  })

  it.each<[status: number, contentType: string | undefined, body: string]>([
    [200, HTML, page('Sign in to the network')],
    [200, JSON_TYPE, page('Sign in')],
    [200, 'text/plain', 'Welcome'],
    [301, undefined, ''],
    [400, HTML, '<h1>Bad Request (400)</h1>'],
    [400, 'text/plain', 'Client sent an HTTP request to an HTTPS server.'],
    [401, JSON_TYPE, '{"error":"log in"}'],
    [403, HTML, page('403 Forbidden')],
    [403, HTML, ''],
    [404, 'text/plain', '404 page not found'],
    [404, JSON_TYPE, 'x'], // cannot be parsed
    [405, HTML, page('405 Not Allowed')],
    [407, JSON_TYPE, '{"detail":"proxy"}'],
    [408, JSON_TYPE, '{"detail":"slow"}'],
    [410, HTML, page('Gone')],
    [413, HTML, page('413 Request Entity Too Large')],
    [421, undefined, ''],
    [425, undefined, ''],
    [500, JSON_TYPE, '{"detail":"bug"}'],
    [503, JSON_TYPE, '{"detail":"maintenance"}'],
  ])('does not accept %i as %s: %s', (status, contentType, body) => {
    expect(isDecision(status, contentType, Buffer.from(body))).toBe(false)
  })
})

describe('isRefusal', () => {
  it('accepts a 4xx, except those that pass', () => {
    expect([400, 401, 403, 404, 405, 410, 413].map(isRefusal)).not.toContain(false)
    expect([407, 408, 421, 425, 200, 302, 500, undefined].map(isRefusal)).not.toContain(true)
  })
})

describe('sentenceOf', () => {
  it.each([
    ['{"detail":"no such project","causes":[]}', 'no such project'],
    ['{"message":"no"}', 'no'],
    [page('403 Forbidden'), '403 Forbidden'],
    ['<title>Access denied</title><script>if (a < b) block()</script>', 'Access denied'],
    [
      '<h1>Forbidden</h1>\n<p>Project not found or key incorrect&#x27;s &lt;DSN&gt;</p>',
      "Forbidden Project not found or key incorrect's <DSN>",
    ],
    ['Too\u0000\n many', 'Too many'],
    ['', undefined],
    ['<!-- nothing --><p></p>', undefined],
  ])('returns the text of %s', (body, text) => {
    expect(sentenceOf(Buffer.from(body))).toBe(text)
  })

  it('cuts a long text, and reads no more than the begin of a page', () => {
    expect(sentenceOf(Buffer.from('word '.repeat(10_000)))).toMatch(/^(word ){31}word…$/)
    expect(sentenceOf(Buffer.from(`<style>${'x'.repeat(60_000)}`))).toBeUndefined()
  })
})
