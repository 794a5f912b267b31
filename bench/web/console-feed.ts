/** Measures the cost of the console's live feed for a browser at 200 envelopes per second: frames and memory. */

import { readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { startChromium } from '../../tests/support/browser/chromium.ts'
import { type ConsoleSite, startConsole } from '../../tests/support/browser/console.ts'
import { quantile } from '../report/statistics.ts'

const RATE = 200 // envelopes per second
const SECONDS = 60
const EVERY_MS = 50

async function run(site: ConsoleSite): Promise<void> {
  await using visitor = await site.operator('/live-feed')
  visitor.allowTrouble(/./)
  const { page } = visitor
  await page.getByRole('status').filter({ hasText: 'live' }).waitFor()
  await page.evaluate(watchFrames)
  const answered = await postSteadily(site)
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

/** Posts the envelopes that are due every 50 ms, without waiting for responses. Returns the number of responses. */
async function postSteadily({ send, newError }: ConsoleSite): Promise<number> {
  const began = performance.now()
  let posted = 0
  const answers: Promise<boolean>[] = []
  while (posted < RATE * SECONDS) {
    const due = Math.min(RATE * SECONDS, Math.floor(((performance.now() - began) / 1000) * RATE))
    for (; posted < due; posted++) answers.push(isAnswered(send(newError())))
    await sleep(EVERY_MS)
  }
  return (await Promise.all(answers)).filter(Boolean).length
}

function isAnswered(answer: Promise<unknown>): Promise<boolean> {
  return answer.then(
    () => true,
    () => false,
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
await using site = await startConsole(chromium, { replicas: 3 })
await run(site)
