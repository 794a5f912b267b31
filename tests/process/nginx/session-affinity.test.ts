/** Several webs behind one nginx: operators reach the one with their session, and other visitors reach any. */

import { get } from 'node:http'
import { text } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { type Nginx, startNginx } from '../../support/nginx/nginx.ts'
import { startUpstream } from '../../support/recording-server.ts'
import { requires } from '../../support/requirements.ts'

const ADDRESSES = Array.from({ length: 8 }, (_, n) => `127.0.0.${n + 10}`)

/** Returns the name of the web that serves a visitor at that address. */
function ask({ port }: Nginx, path: string, localAddress: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = get({ host: '127.0.0.1', port, path, localAddress, agent: false }, (response) =>
      text(response).then(resolve, reject),
    )
    request.on('error', reject)
  })
}

async function askAll(nginx: Nginx, paths: readonly string[], address: string): Promise<Set<string>> {
  return new Set(await Promise.all(paths.map((path) => ask(nginx, path, address))))
}

it(
  'nginx sends an operator to the same of two webs, other visitors to both, and all to the remaining one',
  requires('nginx'),
  async () => {
    await using one = await startUpstream('one')
    const other = await startUpstream('other')
    await using nginx = await startNginx({ tunnels: ['127.0.0.1:9'], web: `${one.address} ${other.address}` })

    const kept = [
      '/console',
      '/console/session',
      '/console/live-feed?outcome=rejected',
      '/console/',
      '/lab',
      '/lab/x',
    ]
    const elsewhere = ['/', '/a', '/b', '/consolation', '/labour', '/c', '/d', '/e']
    const chosen: string[] = []
    for (const address of ADDRESSES) {
      const webs = await askAll(nginx, kept, address)
      expect(webs.size).toBe(1)
      chosen.push(...webs)
      expect((await askAll(nginx, elsewhere, address)).size).toBe(2)
    }
    expect(new Set(chosen).size).toBe(2)

    await other[Symbol.asyncDispose]()
    for (const address of ADDRESSES) expect(await askAll(nginx, kept, address)).toEqual(new Set(['one']))
  },
)
