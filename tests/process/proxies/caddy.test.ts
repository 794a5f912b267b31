/** The recipe for Caddy while one of two tunnels is away. */

import { expect, it } from 'vitest'
import { post } from '../../support/post.ts'
import { RECIPES, startRecipe } from '../../support/proxies/recipes.ts'
import { startUpstream } from '../../support/recording-server.ts'
import { requires } from '../../support/requirements.ts'

const NOTHING = '127.0.0.1:9' // no server listens there
const SENDERS = 64
const POSTS = 10_000 // with round robin, Caddy 2.6 has no tunnel for a few of them

it('Caddy sends each post to the other tunnel when its health check has found that one is away', {
  ...requires('caddy'),
}, async () => {
  const recipe = RECIPES.find(({ requirement }) => requirement === 'caddy') ?? expect.unreachable()
  await using tunnel = await startUpstream('tunnel', ({ method }, response) => {
    response.writeHead(method === 'POST' ? 200 : 405).end()
  })
  await using proxy = await startRecipe(recipe, { tunnels: [tunnel.address, NOTHING], app: NOTHING })
  await expect.poll(() => statusesOf(proxy.url, SENDERS)).toEqual({ 200: SENDERS })
  expect(await statusesOf(proxy.url, POSTS)).toEqual({ 200: POSTS })
})

/** Sends posts, 64 at the same time. Returns the number of responses with each status. */
async function statusesOf(url: string, count: number): Promise<Record<number, number>> {
  const statuses: Record<number, number> = {}
  let left = count
  async function send(): Promise<void> {
    while (left-- > 0) {
      const { status } = await post(url, { body: 'an envelope' })
      statuses[status] = (statuses[status] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: SENDERS }, send))
  return statuses
}
