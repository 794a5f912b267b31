/** Servers that people run by mistake instead of a tunnel, or in front of one. */

import { once } from 'node:events'
import { createServer, request as httpRequest, type IncomingMessage, type RequestListener } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { listen } from '../listen.ts'

/** Starts a server that accepts every post. */
export const startOpenRelay = () =>
  start((request, response) => {
    request.resume().on('end', () => {
      response
        .writeHead(200, { 'content-type': 'application/json', 'access-control-allow-origin': '*' })
        .end('{}')
    })
  })

export type Answer = { status: number; headers: Record<string, string>; body: string | Buffer }

/** Builds the response to a post, with or without that of the site. */
export type Alter = (path: string, forward: () => Promise<Answer>) => Promise<Answer>

/** Starts a proxy in front of nginx at `site`, which it calls `host`. */
export const startFront = (site: string, alter: Alter, host?: string) =>
  start(async (request, response) => {
    const body = await buffer(request).catch(() => undefined) // announced, but never sent
    if (!body) return
    const path = request.url ?? '/'
    const forward = () => ask(site, request, body, host)
    const answer = request.method === 'POST' ? await alter(path, forward) : await forward()
    response.writeHead(answer.status, answer.headers).end(answer.body)
  })

/** Sends the request again; a body of any length is announced as it was. */
async function ask(site: string, request: IncomingMessage, body: Buffer, host?: string): Promise<Answer> {
  const headers = { ...request.headers, ...(host && { host }) }
  const asked = httpRequest(`${site}${request.url}`, { method: request.method ?? 'GET', headers })
  asked.end(body)
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  const { 'transfer-encoding': _, ...kept } = answer.headers
  return {
    status: answer.statusCode ?? 0,
    headers: kept as Record<string, string>,
    body: await buffer(answer),
  }
}

async function start(listener: RequestListener) {
  const listening = await listen(createServer(listener))
  const address = `127.0.0.1:${listening.port}`
  return { ...listening, address, url: `http://${address}` }
}
