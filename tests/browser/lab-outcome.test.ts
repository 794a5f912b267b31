/** Outcomes that the error lab shows, for each response to its post. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isMarked } from '../../web/features/lab/outcome.ts'
import { startChromium, type Visitor } from '../support/browser/chromium.ts'
import { requires } from '../support/requirements.ts'
import { startWeb, type Web } from '../support/web/web.ts'

type Answer = { status: number } | 'none'

let web: Web
let chromium: Awaited<ReturnType<typeof startChromium>>

/** Opens the lab with a tunnel that gives `answer` to every report. */
async function open({ page }: Visitor, answer: Answer): Promise<void> {
  await page.route('**/monitoring?**', (route) =>
    answer === 'none' ? route.abort() : route.fulfill({ status: answer.status, json: {} }),
  )
  await page.goto(`${web.url}/lab`)
}

describe('isMarked', () => {
  const envelope = (payload: object) =>
    [
      '{"event_id":"1"}',
      '{"type":"event"}',
      JSON.stringify(payload),
      '{"type":"attachment"}',
      '\x89PNG',
    ].join('\n')

  it('finds the report of an error by its mark, and ignores marks in breadcrumbs of later errors', () => {
    expect(isMarked(envelope({ message: 'Sent on purpose (lab 0a)' }), '0a')).toBe(true)
    expect(isMarked(envelope({ breadcrumbs: [{ message: 'lab 0a' }], message: 'lab 0b' }), '0a')).toBe(false)
  })

  it('finds a report by the type of its items', () => {
    expect(isMarked(envelope({}), '"type":"event"')).toBe(true)
    expect(isMarked(envelope({}), '"type":"replay_event"')).toBe(false)
  })
})

describe('The error lab', requires('chromium'), () => {
  beforeAll(async () => {
    web = await startWeb()
    chromium = await startChromium()
  }, 180_000)
  afterAll(() => Promise.all([web?.stop(), chromium?.close()]))

  it('shows the event ID of a report beside its button, by mouse and by keyboard', async () => {
    await using visitor = await chromium.visitor()
    const { page, posts } = visitor
    visitor.expectTrouble(/uncaught Error: Thrown on purpose/)
    visitor.expectTrouble(/uncaught Error: Rejected on purpose/)
    await open(visitor, { status: 200 })
    const outcomeOf = (name: string) =>
      page.getByRole('listitem', { name }).getByRole('status').filter({ hasText: 'Event' })
    await page.getByRole('button', { name: 'Throw an error' }).click()
    await outcomeOf('Throw an error').waitFor()
    await page.getByRole('button', { name: 'Reject a promise' }).press('Enter')
    await outcomeOf('Reject a promise').waitFor()
    const outcomes = []
    for (const name of ['Throw an error', 'Reject a promise'])
      outcomes.push(await outcomeOf(name).innerText())
    const ids = posts.map((post) => JSON.parse(post.postData()?.split('\n')[0] ?? '').event_id)
    expect(outcomes).toEqual(ids.map((id) => `accepted by this site (200)\nEvent ${id}`))
  })

  it.each([
    ['spooled by this site, delivered later (202)', { status: 202 }],
    ['not accepted by this site (403)', { status: 403 }],
    ['not accepted by this site (503)', { status: 503 }],
    ['not delivered: no response, or this browser is rate-limited', 'none'],
  ] as [string, Answer][])('shows that a report was %s', async (outcome, answer) => {
    await using visitor = await chromium.visitor()
    visitor.expectTrouble(/uncaught Error: Thrown on purpose/)
    if (answer === 'none') visitor.expectTrouble(/failed: POST|ERR_FAILED/)
    else if (answer.status >= 400) visitor.expectTrouble(new RegExp(`status of ${answer.status}`))
    await open(visitor, answer)
    await visitor.page.getByRole('button', { name: 'Throw an error' }).click()
    await visitor.page.getByText(outcome).waitFor()
  })
})
