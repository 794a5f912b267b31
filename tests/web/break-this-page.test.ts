/** The buttons that break the page, and the list of what became of each report. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startChromium, type Visitor } from '../helpers/chromium.ts'
import { requires } from '../helpers/requirements.ts'
import { startWeb, type Web } from '../helpers/web.ts'

type Answer = { status: number } | 'none'

let web: Web
let chromium: Awaited<ReturnType<typeof startChromium>>

/** Opens the page, with a tunnel that gives `answer` to every report. */
async function open({ page }: Visitor, answer: Answer): Promise<void> {
  await page.route('**/monitoring?**', (route) =>
    answer === 'none' ? route.abort() : route.fulfill({ status: answer.status, json: {} }),
  )
  await page.goto(web.url)
}

describe('The page that can be broken', requires('chromium'), () => {
  beforeAll(async () => {
    web = await startWeb()
    chromium = await startChromium()
  }, 180_000)
  afterAll(() => Promise.all([web?.stop(), chromium?.close()]))

  it('tells the id and the fate of a thrown error and of a rejected promise, newest first', async () => {
    await using visitor = await chromium.visitor()
    const { page, posts } = visitor
    visitor.expectTrouble(/uncaught Error: Thrown on purpose, number 1/)
    visitor.expectTrouble(/uncaught Error: Rejected on purpose, number 2/)
    await open(visitor, { status: 200 })
    await page.getByRole('button', { name: 'Throw an error' }).click()
    await page.getByRole('button', { name: 'Reject a promise' }).press('Enter')

    const reports = page.getByRole('listitem').filter({ hasText: 'accepted by this site (200)' })
    await reports.nth(1).waitFor()
    const ids = posts.map((post) => JSON.parse(post.postData()?.split('\n')[0] ?? '').event_id)
    expect(await reports.allInnerTexts()).toEqual([
      `Error: Rejected on purpose, number 2\naccepted by this site (200)\nEvent ${ids[1]}`,
      `Error: Thrown on purpose, number 1\naccepted by this site (200)\nEvent ${ids[0]}`,
    ])
  })

  it.each([
    ['kept by this site, and delivered later (202)', { status: 202 }],
    ['not taken by this site (403)', { status: 403 }],
    ['not taken by this site (503)', { status: 503 }],
    ['not taken: no answer, or this browser was asked to hold reports back', 'none'],
  ] as [string, Answer][])('tells when a report was %s', async (fate, answer) => {
    await using visitor = await chromium.visitor()
    visitor.expectTrouble(/uncaught Error: Thrown on purpose/)
    if (answer === 'none') visitor.expectTrouble(/failed: POST|ERR_FAILED/)
    else if (answer.status >= 400) visitor.expectTrouble(new RegExp(`status of ${answer.status}`))
    await open(visitor, answer)
    await visitor.page.getByRole('button', { name: 'Throw an error' }).click()
    await visitor.page.getByText(fate).waitFor()
  })

  it('keeps the newest twenty', async () => {
    await using visitor = await chromium.visitor()
    const { page } = visitor
    visitor.expectTrouble(/uncaught Error: Thrown on purpose/)
    await open(visitor, { status: 200 })
    for (let count = 0; count < 22; count++)
      await page.getByRole('button', { name: 'Throw an error' }).click()
    await page.getByText('number 22').waitFor()
    const reports = page.getByRole('listitem').filter({ hasText: 'on purpose' })
    expect(await reports.count()).toBe(20)
  })
})
