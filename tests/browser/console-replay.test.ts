/** Replay player of the inbox in Chromium: it plays what an SDK recorded, and a hostile recording reaches nothing. */

import { randomUUID } from 'node:crypto'
import { deflateSync } from 'node:zlib'
import type { Frame, Page } from 'playwright-core'
import { describe, expect } from 'vitest'
import type { Command, Report } from '../../web/features/console/inbox/replay/messages.ts'
import { findingsInBothThemes } from '../support/browser/axe.ts'
import { type ConsoleSite, clickListed, press, untilListed } from '../support/browser/console.ts'
import { it as base } from '../support/browser/fixtures.ts'
import { envelopeOf, type Part } from '../support/envelopes.ts'
import { perFile } from '../support/lifetime.ts'
import { startUpstream } from '../support/recording-server.ts'
import { requires } from '../support/requirements.ts'
import { captureFor } from '../support/sdk-captures.ts'

const it = base.extend('consoleSettings', perFile, { SENTRY_DSN: '' }) // with one, only errors and feedback are kept

/** Scrolling to the position where the page is. */
const NO_CHANGE = { source: 3, id: 1, x: 0, y: 0 }
const PHONE = { width: 390, height: 844 }
const START = 1_795_220_562_000 // milliseconds since 1970

/** Exposed to the page by a test. */
declare function recordCommand(type: string): void

type Node = { id: number; type: number } & Record<string, unknown>

describe('The replay player', requires('chromium', 'nginx'), () => {
  it('plays the replay of an error on one timeline, by keyboard', async ({ consoleSite }) => {
    await consoleSite.send(captureFor(consoleSite.dsn, 'browser-11.12.0-replay-1'))
    await consoleSite.send(captureFor(consoleSite.dsn, 'browser-11.12.0-replay-2'))
    await using visitor = await consoleSite.operator('/inbox')
    const { page } = visitor
    const error = page.getByRole('link', { name: /Error: in replay/ })
    await untilListed(error)
    await error.click()
    expect(page.frames()).toHaveLength(1)
    const frame = await load(page)
    await expect.poll(() => frame.locator('button#b').count()).toBe(1)
    const timeline = page.getByRole('list', { name: 'Timeline of the replay' })
    await timeline.getByRole('button', { name: 'This error: Error: in replay' }).waitFor()
    await timeline.getByRole('button', { name: 'Click: body > button#b' }).waitFor()

    const slider = page.getByRole('slider', { name: 'Position' })
    await slider.focus()
    await page.keyboard.press('End')
    const end = Number(await slider.getAttribute('max'))
    await expect.poll(async () => Number(await slider.inputValue())).toBeGreaterThan(end - 200)
    await page.keyboard.press('Home')
    await expect.poll(() => slider.inputValue()).toBe('0')
    await page.getByRole('button', { name: 'Jump to the error' }).focus()
    await page.keyboard.press('Enter')
    await expect.poll(async () => Number(await slider.inputValue())).toBeGreaterThan(0)
    await page.getByRole('button', { name: 'Play', exact: true }).press('Enter')
    await expect.poll(async () => Number(await slider.inputValue())).toBeGreaterThan(end - 3)
    await page.getByRole('button', { name: 'Play', exact: true }).waitFor() // at its end
  })

  it('says which segments are missing, and why a replay without its first page cannot be played', async ({
    consoleSite,
  }) => {
    const replay = newId()
    await sendSegment(consoleSite, replay, 2, [{ type: 3, timestamp: START, data: {} }])
    await using visitor = await consoleSite.operator(`/inbox?replay=${replay}`)
    const { page } = visitor
    await clickListed(page.getByRole('link', { name: /Segment 2/ }))
    await page.getByText('Segments 0, 1 of the replay are not in the inbox.').waitFor()
    await press(page.getByRole('button', { name: 'Load the replay' }))
    await page.getByText('The segment with the whole page is not in the inbox.').waitFor()
  })

  it.for<[what: string, events: unknown, text: string]>([
    ['of an unknown version', { version: 9 }, 'of an unknown version'],
    ['of more than 20 MiB', ['x'.repeat(21 * 1024 * 1024)], 'more than 20 MiB'],
  ])('says why a recording %s cannot be played', async ([, events, text], { consoleSite }) => {
    const replay = newId()
    await sendSegment(consoleSite, replay, 0, events)
    await using visitor = await consoleSite.operator(`/inbox?replay=${replay}`)
    const { page } = visitor
    visitor.allowTrouble(/^failed: GET .*\/recording/)
    await clickListed(page.getByRole('link', { name: /Segment 0/ }))
    await press(page.getByRole('button', { name: 'Load the replay' }))
    await page.getByText(text).waitFor()
  })

  it('joins segments of one replay, and shows errors at their time', async ({ consoleSite }) => {
    const replay = newId()
    const changed = { source: 0, adds: [], removes: [], attributes: [], texts: [{ id: 6, value: 'second' }] }
    await sendSegment(consoleSite, replay, 1, [{ type: 3, timestamp: START + 600_000, data: changed }])
    await sendSegment(consoleSite, replay, 0, pageWith([textNode(6, 'first')]))
    await sendError(consoleSite, replay, 'boom', START + 2_000)
    await sendError(consoleSite, replay, 'late', START + 600_000)
    await using visitor = await consoleSite.operator(`/inbox?replay=${replay}`)
    const { page } = visitor
    await clickListed(page.getByRole('link', { name: /Error: boom/ }))
    const frame = await load(page)
    await frame.getByText('first').waitFor()
    await press(page.getByRole('button', { name: 'Jump to the error' }))
    await page.getByText('0:02 / 10:00').waitFor()
    await holdEnd(frame)
    await page.getByRole('slider', { name: 'Position' }).press('End')
    await frame.getByText('second').waitFor()
    await page.getByLabel('Speed').selectOption('2')
    await expect.poll(() => frame.evaluate(() => 'sendEnd' in window)).toBe(true)
    await page.getByRole('button', { name: 'late' }).press('Enter')
    await page.getByRole('button', { name: 'Play', exact: true }).press('Enter') // from the start
    await frame.getByText('first').waitFor()
    const at = await frame.evaluate<number>('sendEnd()')
    await expect
      .poll(async () => Number(await page.getByRole('slider', { name: 'Position' }).inputValue()))
      .toBeGreaterThan(at)
    await page.getByRole('button', { name: 'Pause' }).press('Enter')
    await page.getByRole('button', { name: 'Play', exact: true }).waitFor()
    await seekAndPlay(page, 'late')
    await expect
      .poll(async () => Number(await page.getByRole('slider', { name: 'Position' }).inputValue()))
      .toBeGreaterThan(0)
    await page.getByRole('button', { name: 'Pause' }).press('Enter')
    await page.getByRole('button', { name: 'Play', exact: true }).waitFor()
    expect(await findingsInBothThemes(page)).toEqual([])
    await page.setViewportSize(PHONE)
    await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth)).toBe(PHONE.width)
    expect(await findingsInBothThemes(page)).toEqual([])
  })

  it('stays paused when the operator seeks at the moment of its end', async ({ consoleSite }) => {
    const replay = newId()
    await sendSegment(consoleSite, replay, 1, [{ type: 3, timestamp: START + 600_000, data: NO_CHANGE }])
    await sendSegment(consoleSite, replay, 0, pageWith([textNode(6, 'first')]))
    await sendError(consoleSite, replay, 'boom', START + 2_000)
    await using visitor = await consoleSite.operator(`/inbox?replay=${replay}`)
    const { page } = visitor
    await clickListed(page.getByRole('link', { name: /Error: boom/ }))
    const sent: string[] = []
    await page.getByRole('button', { name: 'Load the replay' }).waitFor()
    await page.exposeFunction('recordCommand', (type: string) => sent.push(type))
    await seekAtEnd(page, 'boom')
    await load(page)
    await page.getByRole('button', { name: 'Play', exact: true }).press('Enter')
    await page.getByRole('slider', { name: 'Position' }).press('End')
    await expect.poll(() => sent).toEqual(['load', 'play', 'play', 'pause'])
    await page.getByRole('button', { name: 'Play', exact: true }).waitFor()
    await page.getByText('0:02 / 10:00').waitFor()
  })

  it('lets a hostile recording neither run scripts nor reach the network', async ({ consoleSite }) => {
    await using evil = await startUpstream('evil')
    const url = `http://${evil.address}`
    const replay = newId()
    const unsafe = [
      ['img', { src: `${url}/img`, srcset: `${url}/srcset 2x` }],
      ['img', { src: 'data:,', onerror: 'top.document.title = document.title = "run"' }],
      ['a', { href: 'javascript:document.title="run"', ping: `${url}/ping`, autofocus: '' }],
      ['script', { src: `${url}/script` }],
      ['link', { rel: 'stylesheet', href: `${url}/css` }],
      ['link', { rel: 'preconnect', href: url }],
      ['link', { rel: 'prefetch', href: `${url}/prefetch` }],
      [
        'link',
        { rel: 'stylesheet', _cssText: `@import "${url}/import"; body { background: url(${url}/css) }` },
      ],
      ['iframe', { src: `${url}/iframe`, srcdoc: '<script>parent.document.title = "run"</script>' }],
      ['object', { data: `${url}/object` }],
      ['embed', { src: `${url}/embed` }],
      ['video', { src: `${url}/video`, poster: `${url}/poster`, autoplay: '' }],
      ['meta', { 'http-equiv': 'refresh', content: `0;url=${url}/refresh` }],
      ['form', { action: `${url}/form` }],
      ['div', { style: `background: url(${url}/style)` }],
    ] as const
    const nodes = unsafe.map(([tagName, attributes], n) => element(n + 20, tagName, attributes))
    await sendSegment(consoleSite, replay, 0, pageWith([...nodes, textNode(6, 'the end')]))
    await using visitor = await consoleSite.operator(`/inbox?replay=${replay}`)
    const { page } = visitor
    visitor.allowTrouble(/Content Security Policy|^failed: .* csp$|Blocked autofocusing/)
    await clickListed(page.getByRole('link', { name: /Segment 0/ }))
    const frame = await load(page)
    const title = 'Segment 0 · Inbox · Console · Culvert'
    await frame.getByText('the end').waitFor()
    await page.getByRole('slider', { name: 'Position' }).press('End')
    await frame.evaluate(() => new Promise(requestAnimationFrame))
    const left = frame.locator('script, link, meta, iframe, object, embed, video')
    expect(await left.evaluateAll((all) => all.map(({ outerHTML }) => outerHTML))).toEqual([])
    expect([await page.title(), await frame.evaluate(() => document.title)]).not.toContain('run')
    expect(await page.title()).toBe(title)
    expect(evil.asked).toEqual([])
  })

  it('gives its frame neither cookies nor the page of the console, and no network', async ({
    consoleSite,
  }) => {
    await using evil = await startUpstream('evil')
    const replay = newId()
    await sendSegment(consoleSite, replay, 0, pageWith([textNode(6, 'shown')]))
    await using visitor = await consoleSite.operator(`/inbox?replay=${replay}`)
    const { page } = visitor
    visitor.allowTrouble(/Content Security Policy|^failed: .* csp$|Blocked opening/)
    await clickListed(page.getByRole('link', { name: /Segment 0/ }))
    const frame = await load(page)
    const reached = await frame.evaluate(
      async (urls) => {
        const attempts: Record<string, () => unknown> = {
          cookies: () => document.cookie,
          storage: () => localStorage.length,
          page: () => parent.document.title,
          frame: () => frameElement?.outerHTML.length,
          popup: () => open(urls.evil),
        }
        for (const [name, url] of Object.entries(urls)) {
          attempts[`fetch ${name}`] = () => fetch(url, { mode: 'no-cors', credentials: 'include' })
          attempts[`image ${name}`] = () =>
            new Promise((done, fail) => Object.assign(new Image(), { src: url, onload: done, onerror: fail }))
          attempts[`socket ${name}`] = () =>
            new Promise((done, fail) =>
              Object.assign(new WebSocket(url.replace('http', 'ws')), { onopen: done, onerror: fail }),
            )
        }
        const outcomes = Object.entries(attempts).map(async ([name, attempt]) => {
          try {
            return (await attempt()) ? [name] : []
          } catch {
            return []
          }
        })
        return { origin: self.origin, names: (await Promise.all(outcomes)).flat() }
      },
      { evil: `http://${evil.address}/`, console: `${consoleSite.site.url}/console/inbox` },
    )
    expect(reached).toEqual({ origin: 'null', names: [] })
    await frame.evaluate((url) => location.assign(url), `http://${evil.address}/left`).catch(() => {})
    await page.getByRole('heading', { level: 1 }).waitFor()
    expect(evil.asked).toEqual([])
    const { headers } = await fetch(`http://127.0.0.1:${consoleSite.site.port}/console/inbox/replay-frame`)
    expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; .*; sandbox allow-scripts$/)
  })

  /** Clicks both buttons within less time than the player takes to notice the end. */
  async function seekAndPlay(page: Page, mark: string): Promise<void> {
    await page.evaluate(async (name) => {
      const click = (text: string) =>
        [...document.querySelectorAll('button')]
          .find(({ textContent }) => textContent?.endsWith(text))
          ?.click()
      click(name)
      await new Promise(requestAnimationFrame) // React renders the new position
      click('Play')
    }, mark)
  }

  /** Clicks the mark when the page has read the report of the end, before React renders it. Records the commands to the frame. */
  async function seekAtEnd(page: Page, mark: string): Promise<void> {
    await page.evaluate((name) => {
      const { postMessage } = MessagePort.prototype
      MessagePort.prototype.postMessage = function (message: Command | null) {
        if (message) recordCommand(message.type) // React's own messages are null
        postMessage.call(this, message)
      }
      const { set } = Object.getOwnPropertyDescriptor(MessagePort.prototype, 'onmessage') ?? {}
      Object.defineProperty(MessagePort.prototype, 'onmessage', {
        set(handle: (event: MessageEvent<Report>) => void) {
          set?.call(this, (event: MessageEvent<Report>) => {
            handle(event)
            if (event.data.type !== 'ended') return
            const buttons = [...document.querySelectorAll('button')]
            buttons.find(({ textContent }) => textContent?.endsWith(name))?.click()
          })
        },
      })
    }, mark)
  }

  /** Withholds the frame's report of the end. `sendEnd()` in the frame sends it, and returns the time reported next. */
  async function holdEnd(frame: Frame): Promise<void> {
    await frame.evaluate(() => {
      let at = 0
      const post = MessagePort.prototype.postMessage
      MessagePort.prototype.postMessage = function (message: Report) {
        const sendEnd = async () => {
          post.call(this, message)
          await new Promise(requestAnimationFrame)
          MessagePort.prototype.postMessage = post
          return at
        }
        if (message.type === 'ended') return void Object.assign(window, { sendEnd })
        if (message.type === 'time') at = message.at
        post.call(this, message)
      }
    })
  }

  async function load(page: Page): Promise<Frame> {
    await press(page.getByRole('button', { name: 'Load the replay' }))
    await page.getByRole('slider', { name: 'Position' }).waitFor()
    const frame = page.frames().find((each) => each.url().endsWith('/replay-frame'))
    if (!frame) throw new Error('There is no frame of a replay.')
    return frame
  }
})

const newId = () => randomUUID().replaceAll('-', '')

const textNode = (id: number, textContent: string): Node => ({ id, type: 3, textContent })

function element(id: number, tagName: string, attributes: object = {}, childNodes: Node[] = []): Node {
  return { id, type: 2, tagName, attributes, childNodes }
}

/** Events of a page with this body, and of 4 s without a change. */
function pageWith(body: Node[]): object[] {
  const html = element(2, 'html', {}, [element(3, 'head'), element(5, 'body', {}, body)])
  const node = { id: 1, type: 0, childNodes: [html] }
  return [
    { type: 4, timestamp: START, data: { href: 'http://shop.example/', width: 800, height: 600 } },
    { type: 2, timestamp: START, data: { node, initialOffset: { top: 0, left: 0 } } },
    { type: 3, timestamp: START + 4_000, data: NO_CHANGE },
  ]
}

async function sendSegment(
  consoleSite: ConsoleSite,
  replay: string,
  segment: number,
  events: unknown,
): Promise<void> {
  const note = JSON.stringify({
    ...{ type: 'replay_event', replay_id: replay, segment_id: segment, urls: [] },
  })
  const head = Buffer.from(`{"segment_id":${segment}}\n`)
  const recording = Buffer.concat([head, deflateSync(JSON.stringify(events))])
  const parts: Part[] = [
    { header: { type: 'replay_event', length: Buffer.byteLength(note) }, payload: note },
    { header: { type: 'replay_recording', length: recording.length }, payload: recording },
  ]
  const body = envelopeOf({ dsn: consoleSite.dsn, event_id: replay }, parts)
  expect((await consoleSite.send(body)).status).toBe(200)
}

async function sendError(
  consoleSite: ConsoleSite,
  replay: string,
  value: string,
  time: number,
): Promise<void> {
  const event = {
    timestamp: time / 1000,
    exception: { values: [{ type: 'Error', value }] },
    tags: { replayId: replay },
  }
  const part: Part = { header: { type: 'event' }, payload: JSON.stringify(event) }
  expect(
    (await consoleSite.send(envelopeOf({ dsn: consoleSite.dsn, event_id: newId() }, [part]))).status,
  ).toBe(200)
}
