/** Measures the console's live feed: frames and memory at 200 envelopes per second, and the delay of the newest row at 100 on the CPU of a phone. */

import { readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { type Chromium, startChromium } from '../../tests/support/browser/chromium.ts'
import { type ConsoleSite, startConsole } from '../../tests/support/browser/console.ts'
import { quantile } from '../report/statistics.ts'
import { visitConsole } from './operator-page.ts'

const RATE = 200 // envelopes per second
const SECONDS = 60
const EVERY_MS = 50
const PHONE = { rate: 100, seconds: 30, slowdowns: [4, 6] }

async function run(chromium: Chromium, site: ConsoleSite): Promise<void> {
  await using visitor = await visitConsole(chromium, site)
  const { page } = visitor
  await visitor.open('/live-feed')
  await page.getByRole('status').filter({ hasText: 'live' }).waitFor()
  await page.evaluate(watchFrames)
  const answered = (await postSteadily(site, RATE, SECONDS)).length
  const frames = (await page.evaluate(() => window.feedFrames ?? [])).sort((a, b) => a - b)
  const shown = await countWhenStill(page)
  const { rss, heap } = await memoryOf(page)
  const model = cpus()[0]?.model ?? 'unknown'
  console.log(`${cpus().length} cores, ${model}`)
  console.log(`Answered          ${answered} of ${RATE * SECONDS} envelopes, posted in ${SECONDS} s`)
  console.log(`Shown             ${shown}`)
  console.log(
    `Frames            ${frames.length}, half within ${say(quantile(frames, 0.5))}, 95 % within ${say(quantile(frames, 0.95))}, the longest ${say(frames.at(-1) ?? 0)}`,
  )
  console.log(
    `The tab           ${megabytes(rss)} of memory of its own, of which JavaScript ${megabytes(heap)}`,
  )
}

const STILL_MS = 3_000

/** Returns the total that the page shows when it no longer changes. */
async function countWhenStill(page: Page): Promise<string> {
  const count = page.getByText(/envelopes$/).first()
  for (let before = ''; ; await sleep(STILL_MS)) {
    const now = (await count.textContent()) ?? ''
    if (now === before) return now
    before = now
  }
}

declare global {
  interface Window {
    feedFrames?: number[]
    feedTops?: { number: number; at: number }[]
  }
}

/** Measures the duration of each frame; runs in the page. */
function watchFrames(): void {
  const frames: number[] = []
  window.feedFrames = frames
  let before = performance.now()
  requestAnimationFrame(function next(now) {
    frames.push(now - before)
    before = now
    requestAnimationFrame(next)
  })
}

/** Measures the time from a post to the frame that shows its row, or a newer one, on top. The receipts of one replica are numbered. */
async function runOnPhone(chromium: Chromium, site: ConsoleSite, slowdown: number): Promise<void> {
  await using visitor = await visitConsole(chromium, site)
  const { page } = visitor
  await page.setViewportSize({ width: 390, height: 844 })
  await visitor.open('/live-feed')
  await page.getByRole('status').filter({ hasText: 'live' }).waitFor()
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('Emulation.setCPUThrottlingRate', { rate: slowdown })
  await page.evaluate(watchTop)
  const { rate, seconds } = PHONE
  const posted = await postSteadily(site, rate, seconds)
  await sleep(STILL_MS)
  const shown = await page.evaluate(() => window.feedTops ?? [])
  const newest = shown.at(-1)?.number ?? 0
  const delays = posted.flatMap((time, index) => {
    const number = newest - posted.length + 1 + index
    const seen = shown.find((each) => each.number >= number)
    return seen ? [seen.at - time] : []
  })
  const sorted = delays.sort((a, b) => a - b)
  console.log(
    `Newest row        ${rate} a second, CPU slowed down ${slowdown} times: half within ${say(quantile(sorted, 0.5))}, 95 % within ${say(quantile(sorted, 0.95))}, the longest ${say(sorted.at(-1) ?? 0)}`,
  )
}

/** Records when the row on top changes; runs in the page. */
function watchTop(): void {
  const tops: { number: number; at: number }[] = []
  window.feedTops = tops
  requestAnimationFrame(function next() {
    const id = document.querySelector<HTMLElement>('[data-receipt]')?.dataset.receipt ?? ''
    const number = Number.parseInt(id.slice(id.lastIndexOf('-') + 1), 36)
    if (id !== '' && number !== tops.at(-1)?.number) tops.push({ number, at: Date.now() })
    requestAnimationFrame(next)
  })
}

/** Posts the envelopes that are due every 50 ms, without waiting for responses. Returns the times of the posts that were answered. */
async function postSteadily(
  { send, newError }: ConsoleSite,
  rate: number,
  seconds: number,
): Promise<number[]> {
  const began = performance.now()
  let posted = 0
  const answers: Promise<number | undefined>[] = []
  while (posted < rate * seconds) {
    const due = Math.min(rate * seconds, Math.floor(((performance.now() - began) / 1000) * rate))
    for (; posted < due; posted++) answers.push(timeOf(send(newError())))
    await sleep(EVERY_MS)
  }
  return (await Promise.all(answers)).filter((time) => time !== undefined)
}

/** Returns the time of now; `undefined` without an answer. */
function timeOf(answer: Promise<unknown>): Promise<number | undefined> {
  const time = Date.now()
  return answer.then(
    () => time,
    () => undefined,
  )
}

/** Returns the memory of the renderer process: private pages, and the JavaScript heap. */
async function memoryOf(page: Page): Promise<{ rss: number; heap: number }> {
  const browser = await page.context().browser()?.newBrowserCDPSession()
  const { processInfo = [] } = (await browser?.send('SystemInfo.getProcessInfo')) ?? {}
  const [drawer] = processInfo.filter(({ type }) => type === 'renderer').sort((a, b) => b.cpuTime - a.cpuTime)
  const own = readFileSync(`/proc/${drawer?.id}/smaps_rollup`, 'utf8').matchAll(/^Private_\w+:\s+(\d+) kB$/gm)
  const cdp = await page.context().newCDPSession(page)
  const { usedSize } = await cdp.send('Runtime.getHeapUsage')
  return { rss: [...own].reduce((sum, [, kilobytes]) => sum + Number(kilobytes) * 1024, 0), heap: usedSize }
}

function say(ms: number): string {
  return `${ms.toFixed(1)} ms`
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(0)} MB`
}

await using chromium = await startChromium()
{
  await using site = await startConsole(chromium, { replicas: 3 })
  await run(chromium, site)
}
for (const slowdown of PHONE.slowdowns) {
  await using site = await startConsole(chromium)
  await runOnPhone(chromium, site, slowdown)
}
