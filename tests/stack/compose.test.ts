/** The shipped compose file, brought up as it is. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { INBOX_DSN } from '../../tunnel/src/dsn.ts'
import { capture } from '../helpers/captures.ts'
import { startChromium } from '../helpers/chromium.ts'
import { type Compose, startCompose } from '../helpers/compose.ts'
import { startLoad } from '../helpers/load.ts'
import { post } from '../helpers/post.ts'
import { parseEnvelope } from '../helpers/received.ts'
import { requires, unmet } from '../helpers/requirements.ts'

const NETWORK_NAMES = '{{range $name, $_ := .NetworkSettings.Networks}}{{$name}} {{end}}'

describe('The containers', requires('docker'), () => {
  const started = new AsyncDisposableStack()
  let stack: Compose

  beforeAll(async () => {
    stack = started.use(await startCompose())
  })

  afterAll(() => started.disposeAsync())

  it('keep the envelope of a real SDK in the inbox, byte for byte', async () => {
    const { body, dsn = '' } = capture('browser-11.12.0-error-unhandled')
    const sent = Buffer.from(body.toString('latin1').replaceAll(dsn, INBOX_DSN), 'latin1')
    const answer = await post(stack.url, { path: '/monitoring?p=1', body: sent })
    expect(answer.status).toBe(200)
    expect(await keptOf(stack, answer.json)).toEqual(sent)
  })

  it('carry a real browser’s error into the inbox', { skip: unmet('chromium') !== undefined }, async () => {
    await using chromium = await startChromium()
    await using visitor = await chromium.visitor()
    visitor.expectTrouble(/uncaught Error: Thrown on purpose/)
    await visitor.page.goto(stack.siteUrl)
    await visitor.page.getByRole('button', { name: 'Throw an error' }).click()
    await visitor.page.getByText('accepted by this site (200)').waitFor()

    const [entry] = (await stack.inbox()).filter(({ types }) => types.includes('event'))
    const [item] = parseEnvelope(await stack.kept(entry?.id ?? '')).items
    expect(JSON.parse(String(item?.payload)).exception.values).toMatchObject([
      { type: 'Error', value: 'Thrown on purpose, number 1' },
    ])
  })

  it('believe nginx, and nobody else', async () => {
    const refused = await post(stack.url, { body: 'no envelope' })
    expect(refused.json).toMatchObject({
      code: 'not-an-envelope',
      request_id: refused.headers['x-request-id'],
    })
  })

  it('keep the admin port from nginx', async () => {
    for (const tunnel of await stack.containers('tunnel')) {
      const url = `http://${await stack.address(tunnel, 'front')}:9091/livez`
      const asked = stack.compose('exec', '-T', 'nginx', 'curl', '--silent', '--show-error', url)
      await expect(asked).rejects.toThrow(/Failed to connect|Couldn't connect/)
    }
  })

  it('let only the tunnels out, and only nginx be reached', async () => {
    const outward = async (service: string) => {
      const [container = ''] = await stack.containers(service)
      const each = await stack.docker('inspect', '--format', NETWORK_NAMES, container)
      const internal = await stack.docker(
        'network',
        'inspect',
        '--format',
        '{{.Internal}}',
        ...each.split(' '),
      )
      return internal.split('\n').includes('false')
    }
    expect(await outward('tunnel')).toBe(true)
    expect(await outward('web')).toBe(false)

    const published = (await stack.compose('ps', '--format', '{{.Service}} {{.Publishers}}')).split('\n')
    expect(published.filter((line) => line.includes('127.0.0.1'))).toEqual([expect.stringMatching(/^nginx /)])
  })

  it('have nothing to write to but their volumes, and no rights', async () => {
    for (const service of ['nginx', 'tunnel', 'web']) {
      const status = await stack.compose('exec', '-T', service, 'cat', '/proc/1/status')
      expect(status).toMatch(/^CapBnd:\t0{16}$/m)
      expect(status).toMatch(/^NoNewPrivs:\t1$/m)
      expect(status).not.toMatch(/^Uid:\t0\t/m)
      await expect(stack.compose('exec', '-T', service, 'touch', '/somewhere')).rejects.toThrow(/Read-only/)
    }
  })

  it('take every envelope while one of two tunnels is killed', async () => {
    const [victim = ''] = await stack.containers('tunnel')
    const load = startLoad(stack.url)
    await load.more(300)
    await stack.docker('kill', victim)
    await load.more(600)
    expect(await load.end()).toEqual([])
  })
})

/** What the inbox holds of the envelope that was answered so. */
async function keptOf(stack: Compose, answer: unknown): Promise<Buffer> {
  const { id } = answer as { id: string }
  const entry = (await stack.inbox()).find(({ eventId }) => eventId === id)
  return stack.kept(entry?.id ?? '')
}
