/** Reports that the benchmark counts as rejected by the browser, separate from lost ones. */

import { createServer } from 'node:http'
import { expect, it } from 'vitest'
import { unsentReports } from '../../bench/delivery/visitors/unsent.ts'
import { SITE_HOST, startChromium } from '../support/browser/chromium.ts'
import { requires } from '../support/requirements.ts'

it('unsentReports returns reports that did not arrive and have no failed request', () => {
  const failed = ['lost', 'arrived', 'refused', 'refused']
  expect(unsentReports(failed, new Set(['lost']), ['arrived'])).toEqual(new Set(['refused']))
})

it(
  'unsentReports returns reports that Chromium rejects beyond 64 KiB of keepalive requests',
  requires('chromium'),
  async () => {
    const come: string[] = []
    const server = createServer(({ method, url = '' }, response) => {
      if (method === 'POST') come.push(url)
      response.end(method === 'POST' ? '{}' : '<!doctype html><title>A page</title>')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    await using chromium = await startChromium()
    await using visitor = await chromium.visitor()
    const address = server.address()
    await visitor.page.goto(`http://${SITE_HOST}:${typeof address === 'object' ? address?.port : 0}/`)

    const said = await visitor.page.evaluate(async () => {
      const posts = Array.from({ length: 7 }, (_, n) =>
        fetch(`/${n}`, { method: 'POST', keepalive: true, body: 'x'.repeat(12_000) }).then(
          () => 'sent',
          () => 'refused',
        ),
      )
      return await Promise.all(posts)
    })
    server.closeAllConnections()
    server.close()

    expect(said).toEqual([...Array(5).fill('sent'), ...Array(2).fill('refused')])
    expect(come.sort()).toEqual(['/0', '/1', '/2', '/3', '/4'])
    expect(visitor.troubles).toEqual([])
  },
)
