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
const SLOW_MS = 700 // longer than another tunnel takes to be asked for a page
const EMPTY: InboxGroups = { inbox: 'one', groups: [], releases: [], environments: [] }
const HAS_INBOX: Answer = (_, response) => response.end(JSON.stringify(EMPTY))

describe('The inbox of the console, for two replicas', () => {
  const started = new AsyncDisposableStack()
  let [first, second] = [OFF, OFF]
  const deleted: string[] = []
  let web: Web
  let cookie: string | undefined

  beforeAll(async () => {
    const tunnels = [
      started.use(
        await startFakeTunnel(
          'first',
          answersOf((...asked) => first(...asked)),
        ),
      ),
      started.use(
        await startFakeTunnel(
          'second',
          answersOf((...asked) => second(...asked)),
        ),
      ),
    ]
    web = started.use(await startWebOver(...tunnels))
    cookie = (await signIn(web.url)).cookie
  }, 300_000)

  afterAll(() => started.disposeAsync())

  beforeEach(() => {
    first = OFF
    second = OFF
  })

  /** Answers of a tunnel to all requests for the inbox. */
  function answersOf(answer: Answer): Answers {
    const remove: Answer = (request, response) => {
      deleted.push(request.url ?? '')
      answer(request, response)
    }
    return { 'GET /inbox/groups': answer, 'DELETE /inbox/7': remove }
  }

  /** Posts the form that deletes an envelope, and returns the result that the page shows. */
  async function deleteOne(): Promise<string | null> {
    const { headers } = await fetch(`${web.url}/console/inbox/7/delete`, {
      ...{ method: 'POST', redirect: 'manual', headers: { cookie: cookie ?? '', origin: web.url } },
    })
    return new URL(headers.get('location') ?? '', web.url).searchParams.get('did')
  }

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

  it('says whether an envelope was deleted, and that it was not when both tunnels fail', async () => {
    expect(await deleteOne()).toBe('gone')
    first = HAS_INBOX
    expect(await deleteOne()).toBe('delete')
    first = FAILS
    second = CLOSES
    expect(await deleteOne()).toBe('not-deleted')
    const page = await get(`${web.url}/console/inbox?did=not-deleted`, cookie)
    expect(await page.text()).toContain('No tunnel has said that the envelope was deleted.')
  })

  it('asks one tunnel to delete an envelope, although its store is slow', async () => {
    first = (request, response) => setTimeout(() => HAS_INBOX(request, response), SLOW_MS)
    second = first
    deleted.length = 0
    expect(await deleteOne()).toBe('delete')
    expect(deleted).toEqual(['/inbox/7'])
  })
})
