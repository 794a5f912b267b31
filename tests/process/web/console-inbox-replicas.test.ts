/** Inbox of the console when replicas have none, fail or do not respond: the page says which. */

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

  it('says that the inbox is off when both respond that they have none', async () => {
    await expect.poll(() => page()).toContain('The inbox is off: no running replica has one.')
  })

  it.each([
    ['fails', FAILS],
    ['closes the connection', CLOSES],
    ['hangs', HANGS],
  ])('does not say that the inbox is off when a replica %s', async (_, answer) => {
    second = answer
    await expect
      .poll(() => page())
      .toContain('No inbox has responded: 1 of 2 replicas did not respond or failed. Load the page again')
  })

  it('says that envelopes may be missing when one has an inbox and the other fails', async () => {
    first = HAS_INBOX
    second = FAILS
    await expect
      .poll(() => page())
      .toMatch(/1 replica did not respond or failed: the page may be incomplete.*No issues yet/)
  })

  it('does not say so when the other has no inbox', async () => {
    first = HAS_INBOX
    await expect.poll(() => page()).toMatch(/^(?!.*did not respond).*No issues yet/)
  })

  it('links to the newest envelopes when the replicas of an older page have stopped', async () => {
    expect(await page('?after=http%3A%2F%2Fstopped%3D1')).toContain(
      'The replicas that could return this page have stopped.',
    )
  })
})
