/** The console while Sentry is away: pending envelopes, and actions on them. */

import { randomUUID } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { describe, expect } from 'vitest'
import { press, untilListed } from '../support/browser/console.ts'
import { it as base } from '../support/browser/fixtures.ts'
import { errorOf } from '../support/envelopes.ts'
import { perFile } from '../support/lifetime.ts'
import { requires } from '../support/requirements.ts'
import { captureFor } from '../support/sdk-captures.ts'
import { hasItem } from '../support/sentry/received-request.ts'

const MANY = 60

const it = base.extend('replicas', perFile, 3)

describe('The console', requires('chromium', 'nginx'), () => {
  it('warns of a damaged spool file on the overview and the spool page until it is gone', async ({
    consoleSite,
  }) => {
    const damaged = `${fileURLToPath(consoleSite.env.SPOOL_URL)}.damaged-2026-11-22T170000.000Z`
    await writeFile(damaged, 'no database')
    await using visitor = await consoleSite.operator()
    const { page } = visitor
    const warning = page.getByRole('status').getByText(damaged)
    for (const path of ['', '/spool']) {
      await page.goto(`${consoleSite.site.url}/console${path}`)
      await expect.poll(() => warning.count()).toBe(1) // three tunnels report it
    }
    await page
      .getByRole('definition')
      .filter({ hasText: /free, write-ahead log/ })
      .waitFor()
    await rm(damaged)
    for (const path of ['', '/spool']) {
      await page.goto(`${consoleSite.site.url}/console${path}`)
      await expect.poll(() => warning.count()).toBe(0)
    }
  })

  it('shows pending envelopes once for three replicas that share a spool, and acts on them after a confirmation', async ({
    consoleSite,
  }) => {
    await consoleSite.sentry.away()
    await consoleSite.spoolMany(4, consoleSite.newError)
    await using visitor = await consoleSite.operator('/spool')
    const { page } = visitor
    const depth = page.getByRole('region', { name: 'Pending' })
    await expect
      .poll(async () => {
        await page.reload() // the page may be slightly behind
        return (await depth.getByRole('definition').first().textContent())?.trim()
      })
      .toBe('4')
    const rows = page.getByRole('region', { name: 'Spool entries' }).getByRole('row')
    await expect.poll(() => rows.count()).toBe(5)

    await rows.nth(1).getByRole('link').click()
    await page.getByText('"type":"event"').waitFor()
    const entry = page.url()
    await page.getByRole('button', { name: 'Copy the receipt ID' }).waitFor()
    await page.getByRole('main').locator('a[href*="live-feed?receipt="]').click()
    await page.getByRole('link', { name: 'Open in the spool' }).click()
    await page.waitForURL(entry)
    await press(page.getByRole('button', { name: 'Purge' }))
    await press(page.getByRole('button', { name: 'No', exact: true }))
    await press(page.getByRole('button', { name: 'Purge' }))
    await press(page.getByRole('button', { name: 'Yes, purge' }))
    await page.getByText('1 was purged.').waitFor()
    await expect.poll(() => rows.count()).toBe(4)
    const acts = () =>
      consoleSite.site.tunnels.flatMap(({ logs }) => logs.flatMap(({ audit }) => audit ?? []))
    await expect
      .poll(acts)
      .toContainEqual(expect.objectContaining({ action: 'spool-purge', envelopes: 1, operator: '127.0.0.1' }))

    await press(page.getByRole('button', { name: 'Pause all' }))
    await press(page.getByRole('button', { name: 'Yes, pause all' }))
    await page.getByText('Delivery from the spool is paused.').waitFor()
    await consoleSite.sentry.back()
    await press(page.getByRole('button', { name: 'Resume all' }))
    await press(page.getByRole('button', { name: 'Yes, resume all' }))
    await page.getByText(/^Delivery from the spool is resumed\./).waitFor()
    await page.goto(`${consoleSite.site.url}/console`)
    await page.locator('summary', { hasText: 'Results' }).click()
    const ends = page.getByRole('table', { name: 'Envelopes by result' })
    await ends.getByRole('row', { name: 'delivered after spooling 3' }).waitFor()
    await ends.getByRole('row', { name: 'purged 1' }).waitFor()

    await page.goto(`${consoleSite.site.url}/console/rejections`)
    const lost = page.getByRole('listitem').filter({ hasText: 'from the spool' })
    await expect.poll(() => lost.locator('h2 + span').textContent()).toBe('1 envelope')
    await lost.getByText(/^First .+ ago|just now, last .+(ago|just now)\.$/).waitFor()
    await page.goto(`${consoleSite.site.url}/console/live-feed?outcome=purged`)
    await page.getByText(/^1 envelope of/).waitFor()
    await press(page.getByRole('button', { name: /purged.*spooled for/ }))
    await page
      .getByRole('region', { name: 'Receipt' })
      .getByText(/An operator purged it/)
      .waitFor()
    const timings = page.getByRole('list', { name: 'Timings' }).getByRole('listitem')
    await expect
      .poll(() => timings.allTextContents())
      .toEqual([
        expect.stringMatching(/received$/),
        expect.stringMatching(/until accepted and forwarded$/),
        expect.stringMatching(/without a response from Sentry$/),
        expect.stringMatching(/until stored in the spool$/),
        expect.stringMatching(/in total$/),
      ])
  })

  it('retries, pauses, resumes and purges after a confirmation, and the audit log has each action', async ({
    consoleSite,
  }) => {
    await consoleSite.sentry.away()
    await consoleSite.spoolMany(3, consoleSite.newError)
    await using visitor = await consoleSite.operator('/spool')
    const { page } = visitor
    const project = page.getByRole('region', { name: 'By project' })
    await expect
      .poll(async () => {
        await page.reload() // the page may be slightly behind
        return project.getByRole('link', { name: 'error', exact: true }).count()
      })
      .toBe(1)
    const download = await page.evaluate(
      async (path) => {
        const response = await fetch(`${path}/envelope`)
        return { text: await response.text(), headers: Object.fromEntries(response.headers) }
      },
      (await page.locator('main table a').first().getAttribute('href')) ?? '',
    )
    expect(download.text).toContain('hello world')
    expect(download.headers).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-disposition': expect.stringMatching(/^attachment; filename="[\w-]+\.envelope"$/),
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
      'cache-control': 'private, no-store',
    })

    const act = async (label: string, within: Page | typeof project, done: RegExp) => {
      await press(within.getByRole('button', { name: label, exact: true }))
      await within.getByRole('button', { name: `Yes, ${label.toLowerCase()}`, exact: true }).click()
      await page.getByRole('status').filter({ hasText: done }).waitFor()
    }
    const question = (text: RegExp) => project.getByRole('status').filter({ hasText: text }).waitFor()
    await press(project.getByRole('button', { name: 'Pause project' }))
    await question(/^Pause delivery of project \S+ \(1 category, 3 pending\)\?$/)
    await press(project.getByRole('button', { name: 'No', exact: true }))
    await press(project.getByRole('button', { name: 'Purge 3 envelopes' }))
    await question(/^Purge 3 envelopes of project \S+, category error\?/)
    await press(project.getByRole('button', { name: 'No', exact: true }))
    await act('Pause project', project, /^Delivery from the spool is paused\./)
    await act('Resume project', project, /^Delivery from the spool is resumed\./)
    await act('Retry 3 envelopes', project, /^\d will be retried now\.$/)
    await act('Retry all 3 pending envelopes now', page, /^\d will be retried now\.$/)
    await page.locator('main table a').first().click()
    await act('Retry this envelope now', page, /^\d will be retried now\.$/)
    await act('Pause project', project, /^Delivery from the spool is paused\./)
    await act('Purge 3 envelopes', project, /(was|were) purged\.$/)
    await project.getByText('none pending').waitFor() // a paused project stays listed
    await act('Resume project', project, /^Delivery from the spool is resumed\./)
    await expect.poll(() => project.count()).toBe(0)
    await consoleSite.spoolMany(2, consoleSite.newError)
    await expect
      .poll(async () => {
        await page.reload()
        return page.getByRole('button', { name: 'Purge all 2 pending envelopes' }).count()
      })
      .toBe(1)
    await act('Purge all 2 pending envelopes', page, /^2 were purged\.$/)
    await consoleSite.sentry.back()
    const acts = () =>
      consoleSite.site.tunnels.flatMap(({ logs }) =>
        logs.flatMap((line) => (line.audit as { action?: string })?.action ?? []),
      )
    await expect
      .poll(acts)
      .toEqual(expect.arrayContaining(['spool-pause', 'spool-resume', 'spool-retry', 'spool-purge']))
  })

  it('lists a declined envelope with the reason, sends it again, and answers in each state whether the report arrived', async ({
    consoleSite,
  }) => {
    const { sentry, site } = consoleSite
    await using visitor = await consoleSite.operator('/find')
    const { page } = visitor
    const eventId = randomUUID()
    const body = errorOf(sentry.dsn(), { event_id: eventId.replaceAll('-', '') })
    const search = page.getByRole('searchbox', { name: 'Event ID' })
    const answer = page.getByRole('listitem').filter({ hasText: 'Arrived' })
    const find = async (text: RegExp) => {
      await page.goto(`${site.url}/console/find`)
      await search.fill(eventId.toUpperCase())
      await search.press('Enter')
      await untilListed(answer.filter({ hasText: text }))
    }
    await search.fill(eventId)
    await search.press('Enter')
    await page.getByRole('status').filter({ hasText: 'Never seen' }).waitFor()

    await sentry.away()
    expect((await consoleSite.send(body)).outcome).toBe('spooled')
    await page.goto(`${site.url}/console/spool`)
    await press(page.getByRole('button', { name: 'Pause all' }))
    await press(page.getByRole('button', { name: 'Yes, pause all' }))
    await find(/Pending since .+ Next attempt: paused\./)
    await page.getByRole('link', { name: 'Open in the spool' }).click()
    await page.getByRole('heading', { name: /^Spool entry/ }).waitFor()
    await page.goto(`${site.url}/console/spool`)
    await press(page.getByRole('button', { name: 'Resume all' }))
    await press(page.getByRole('button', { name: 'Yes, resume all' }))
    await find(
      /Pending since .+ Next attempt: (now|in \d+ \w+|waits for Sentry; next probe (now|in \d+ \w+))\./,
    )

    sentry.answer({ status: 403, body: { detail: 'event submission rejected with_reason: ProjectId' } })
    await sentry.back()
    await page.goto(`${site.url}/console/spool?state=declined`)
    const list = page.getByRole('region', { name: 'Declined entries' })
    await untilListed(list.getByRole('row').filter({ hasText: 'HTTP 403: event submission rejected' }))
    await list
      .getByRole('figure')
      .getByText(`SENTRY_DSN=http://NEW-KEY@127.0.0.1:${sentry.port}/456`)
      .waitFor()
    await find(/Sentry declined it .+ HTTP 403/)

    sentry.answer({})
    await page.goto(`${site.url}/console/spool?state=declined`)
    await press(list.getByRole('button', { name: 'Send it again' }))
    await list
      .getByRole('status')
      .getByText(/^Send 1 envelope \(\d+ B\) again\?$/)
      .waitFor()
    await press(list.getByRole('button', { name: 'Yes, send it again' }))
    await page.getByRole('status').filter({ hasText: '1 will be sent again.' }).waitFor()
    await untilListed(page.getByRole('region', { name: 'Send again' }).getByText(/^Finished$/))
    await untilListed(list.getByText('Sentry has declined no envelope'))
    await find(/Sentry accepted it/)
    const accepted = sentry.requests.findLast(hasItem('event')) // a client report may have come after it
    expect(accepted?.body.toString()).toContain(eventId.replaceAll('-', ''))
    await page.goto(`${site.url}/console/spool?state=kept`)
    const kept = page.getByRole('region', { name: 'Kept entries' })
    await untilListed(kept.locator(`a[href$="${eventId.replaceAll('-', '')}"]`))
  })

  it('stops sending again at the button, and leaves the rest declined', async ({ consoleSite }) => {
    const { sentry, site } = consoleSite
    sentry.answer({ status: 403, body: { detail: 'event submission rejected with_reason: ProjectId' } })
    for (let n = 0; n < MANY; n++) await consoleSite.send(errorOf(sentry.dsn(), { number: n }))
    sentry.answer({})
    const [tunnel] = site.tunnels
    if (!tunnel) throw new Error('no tunnel runs')
    await tunnel.admin('/spool/pause', { method: 'POST' }) // the job slows down while what it sends is pending
    await using visitor = await consoleSite.operator('/spool?state=declined')
    const { page } = visitor
    const declined = async () => {
      const response = await tunnel.admin('/store/entries?state=declined&limit=200')
      return (await response.json()).entries.length
    }
    await expect.poll(declined).toBe(MANY)
    await page.reload()
    await press(page.getByRole('button', { name: `Send all ${MANY} again` }))
    await press(page.getByRole('button', { name: /^Yes, send all/ }))
    const job = page.getByRole('region', { name: 'Send again' })
    await untilListed(job.getByRole('progressbar'))
    await press(job.getByRole('button', { name: 'Stop' }))
    await page.getByRole('status').filter({ hasText: 'Stopped. Envelopes that are pending' }).waitFor()
    await untilListed(job.getByText(/^Stopped$/))
    const left = await declined()
    expect(left).toBeGreaterThan(0)
    await tunnel.admin('/spool/resume', { method: 'POST' })
    await expect
      .poll(async () => (await (await tunnel.admin('/status')).json()).spool.envelopes, { timeout: 30_000 })
      .toBe(0)
    expect(await declined()).toBe(left)
  })

  it('shows the rate limits of Sentry with their remaining time, and open breakers, on the overview', async ({
    consoleSite,
  }) => {
    const limit429 = { status: 429, headers: { 'x-sentry-rate-limits': '600:replay:key' } }
    consoleSite.sentry.answer((received) => (hasItem('replay_event')(received) ? limit429 : {}))
    const replay = captureFor(consoleSite.sentry.dsn(), 'browser-11.12.0-replay-2')
    await expect.poll(async () => (await consoleSite.send(replay)).status).toBe(429) // 200 while the breaker is open
    await using visitor = await consoleSite.operator()
    const { page } = visitor
    const held = page.locator('#limits')
    const limit = held.getByRole('listitem').filter({ hasText: 'rate-limited' })
    await limit.filter({ hasText: /replay of 127\.0\.0\.1:\d+\/\d+, ends in \d+ min/ }).waitFor()
    await page.getByRole('link', { name: '1 category rate-limited' }).waitFor()

    await consoleSite.sentry.away()
    await consoleSite.spoolMany(18, consoleSite.newError)
    const upstream = held.getByRole('listitem').filter({ hasText: 'breaker open' })
    await upstream.filter({ hasText: /on [1-3] of 3 replicas, since .+; next attempt/ }).waitFor()
    await page
      .getByRole('listitem')
      .filter({ hasText: 'circuit breaker open: it fails or is slow' })
      .first()
      .waitFor()
    const cause = /Connection: .+ cannot be reached \(ECONNREFUSED\), \d+ times? since \d\d:\d\d/
    await page.getByRole('listitem').filter({ hasText: cause }).first().waitFor()
    await consoleSite.sentry.back()
  })
})
