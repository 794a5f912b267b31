/** Inbox of the console when tunnels have none, fail or hang: another one is asked, or the page says which. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { InboxGroups } from '../../../contract/inbox.ts'
import { type Answers, startFakeTunnel } from '../../support/tunnel/fake-admin-port.ts'
import { get, signIn, startWebOver } from '../../support/web/operator.ts'
import type { Web } from '../../support/web/web.ts'

type Answer = Answers[string]

const OFF: Answer = (_, response) => response.writeHead(404).end()
const FAILS: Answer = (_, response) => response.writeHead(503).end()
const CLOSES: Answer = ({ socket }) => socket.destroy()
const HANGS: Answer = () => {}
const EMPTY: InboxGroups = { inbox: 'one', groups: [], releases: [], environments: [] }
const HAS_INBOX: Answer = (_, response) => response.end(JSON.stringify(EMPTY))

describe('The inbox of the console, for two replicas', () => {
  const started = new AsyncDisposableStack()
  let [first, second] = [OFF, OFF]
  let web: Web
  let cookie: string | undefined

  beforeAll(async () => {
    const tunnels = [
      started.use(await startFakeTunnel('first', { 'GET /inbox/groups': (...asked) => first(...asked) })),
      started.use(await startFakeTunnel('second', { 'GET /inbox/groups': (...asked) => second(...asked) })),
    ]
    web = started.use(await startWebOver(...tunnels))
    cookie = (await signIn(web.url)).cookie
  }, 300_000)

  afterAll(() => started.disposeAsync())

  beforeEach(() => {
    first = OFF
    second = OFF
  })

  /** Returns the text of the page. On a busy machine a replica may respond too late: load it again then. */
  async function page(query = ''): Promise<string> {
    const response = await get(`${web.url}/console/inbox${query}`, cookie)
    expect(response.status).toBe(200)
    const main = /<main.*<\/main>/s.exec(await response.text())?.[0] ?? ''
    return main.replaceAll(/<!-- -->|<[^>]+>/g, '').replaceAll(/\s+/g, ' ')
  }

  it('says that the inbox is off when a tunnel responds that it has none', async () => {
    await expect.poll(() => page()).toContain('The inbox is off.')
  })

  it.each([
    ['fails', FAILS],
    ['closes the connection', CLOSES],
    ['hangs', HANGS],
  ])('shows the inbox of the other tunnel when one %s', async (_, answer) => {
    first = answer
    second = HAS_INBOX
    await expect.poll(() => page()).toContain('No issues yet')
    first = HAS_INBOX
    second = answer
    await expect.poll(() => page()).toContain('No issues yet')
  })

  it('does not say that the inbox is off, or empty, when both fail', async () => {
    first = FAILS
    second = CLOSES
    await expect.poll(() => page()).toContain('No tunnel has responded with the inbox. Load the page again')
  })
})
