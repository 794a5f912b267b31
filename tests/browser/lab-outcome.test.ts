/** Outcomes that the error lab shows, for each response to its post. */

import { describe, expect } from 'vitest'
import { isMarked } from '../../web/features/lab/outcome.ts'
import type { Visitor } from '../support/browser/chromium.ts'
import { it } from '../support/browser/fixtures.ts'
import { requires } from '../support/requirements.ts'
import type { Web } from '../support/web/web.ts'

type Answer = { status: number; headers?: Record<string, string> } | 'none'

/** Opens the lab, with a tunnel that gives `answer` to every report. */
async function open(web: Web, { page }: Visitor, answer: Answer): Promise<void> {
  await page.route('**/monitoring?**', (route) =>
    answer === 'none' ? route.abort() : route.fulfill({ ...answer, json: {} }),
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
  it('shows the event ID of a report beside its button, by mouse and by keyboard', async ({
    web,
    visitor,
  }) => {
    const { page, posts } = visitor
    visitor.expectTrouble(/uncaught Error: Thrown on purpose/)
    visitor.expectTrouble(/uncaught Error: Rejected on purpose/)
    await open(web, visitor, { status: 200 })
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
    expect(outcomes).toEqual(ids.map((id) => `accepted by this site (200)\nEvent ${id}\nOpen in the console`))
    expect(await page.getByRole('button', { name: 'Copy the event ID' }).count()).toBe(2)
  })

  it.for<[outcome: string, answer: Answer]>([
    ['spooled by this site, delivered later', { status: 200, headers: { 'x-culvert-outcome': 'spooled' } }],
    ['not accepted by this site (403)', { status: 403 }],
    ['not accepted by this site (503)', { status: 503 }],
    ['not delivered: no response, or this browser is rate-limited', 'none'],
  ])('shows that a report was %s', async ([outcome, answer], { web, visitor }) => {
    visitor.expectTrouble(/uncaught Error: Thrown on purpose/)
    if (answer === 'none') visitor.expectTrouble(/failed: POST|ERR_FAILED/)
    else if (answer.status >= 400) visitor.expectTrouble(new RegExp(`status of ${answer.status}`))
    await open(web, visitor, answer)
    await visitor.page.getByRole('button', { name: 'Throw an error' }).click()
    await visitor.page.getByText(outcome).waitFor()
  })
})
