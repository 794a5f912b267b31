/** Lower bound: an HTTP server and an HTTP client that buffer the body and parse nothing. */

import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import { type Dispatcher, Pool } from 'undici'
import { envelopeUrl } from '../../load/projects.ts'

const [port, dsn = ''] = process.argv.slice(2)
const { origin, path } = envelopeUrl(dsn)
const pool = new Pool(origin, { connections: 64 })

createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const [only] = chunks
    const body = chunks.length === 1 && only ? only : Buffer.concat(chunks)
    const headers = {
      'content-type': 'application/x-sentry-envelope',
      'content-length': String(body.length),
    }
    pool.dispatch({ method: 'POST', path, headers, body }, passOn(response))
  })
}).listen(Number(port), '127.0.0.1', () => console.log('listening'))

function passOn(response: ServerResponse): Dispatcher.DispatchHandler {
  const chunks: Buffer[] = []
  let [status, type] = [502, 'application/json']
  return {
    onRequestStart() {},
    onResponseStart(_: unknown, upstreamStatus: number, headers: IncomingHttpHeaders) {
      status = upstreamStatus
      type = headers['content-type'] ?? type
    },
    onResponseData(_: unknown, chunk: Buffer) {
      chunks.push(chunk)
    },
    onResponseEnd() {
      const body = Buffer.concat(chunks)
      response.writeHead(status, { 'content-type': type, 'content-length': body.length }).end(body)
    },
    onResponseError() {
      response.writeHead(502).end()
    },
  }
}
