/** Defines the situations in which the SDK itself, or the connection of the visitor, is missing. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { blockAds, readLists } from '../../../tests/support/browser/adblock.ts'
import type { Requirement } from '../../../tests/support/requirements.ts'
import { until } from '../../../tests/support/until.ts'
import type { Plan } from '../plan.ts'

/** One visitor of one subject. */
export type Visit = {
  page: Page
  /** URL of the subject's page. */
  url: string
  /** Prefix of the messages, so that no two errors are equal. */
  label: string
  plan: Plan
  /** URLs that the ad blocker has stopped. */
  blocked: string[]
}

export type Situation = {
  title: string
  needs?: Requirement
  /** Disrupts nothing: a loss is a fault of the benchmark. */
  control?: true
  /** Counts report dialogs that the page asks for, and their feedback. */
  dialogs?: true
  run(visit: Visit): Promise<void>
}

const STAY_MS = 1_000 // a visitor who leaves earlier reports less
const SDK_TIMEOUT_MS = 60_000
const DIALOG_TIMEOUT_MS = 5_000

const NOTHING_WRONG: Situation = {
  title: 'nothing blocked, visitor online',
  control: true,
  async run(visit) {
    await open(visit)
    await raise(visit, visit.plan.everyMs)
  },
}

const BLOCKED: Situation = {
  title: 'SDK CDN blocked, ad-block lists on',
  needs: 'lists',
  async run(visit) {
    await blockInto(visit)
    await open(visit)
    await raise(visit, visit.plan.everyMs)
  },
}

const FIRST_SCRIPT: Situation = {
  title: 'error in the first script of the page',
  async run(visit) {
    for (let i = 0; i < visit.plan.errors; i++)
      await open({ ...visit, url: `${visit.url}?error=${encodeURIComponent(`${visit.label} ${i}`)}` })
  },
}

const OFFLINE: Situation = {
  title: 'visitor offline for 30 s',
  async run(visit) {
    await open(visit)
    await visit.page.context().setOffline(true)
    await raise(visit, visit.plan.awayMs / visit.plan.errors)
    await visit.page.context().setOffline(false)
  },
}

const CLOSED: Situation = {
  title: 'tab closed while offline, and reopened',
  async run(visit) {
    const context = visit.page.context()
    const tab = await context.newPage()
    const failed: string[] = []
    tab.on('requestfailed', (request) => failed.push(request.postData() ?? ''))
    await open({ ...visit, page: tab })
    await context.setOffline(true)
    const messages = await raise({ ...visit, page: tab }, visit.plan.everyMs)
    const hasFailed = (message: string) => failed.some((body) => body.includes(`"${message}"`))
    await until(async () => messages.every(hasFailed), SDK_TIMEOUT_MS)
    await tab.close()
    await context.setOffline(false)
    await open(visit)
  },
}

const DIALOG: Situation = {
  title: 'report dialog, ad-block lists on',
  needs: 'lists',
  dialogs: true,
  async run(visit) {
    await blockInto(visit)
    for (let i = 0; i < visit.plan.dialogs; i++) {
      await open(visit)
      await submitDialog(visit.page, `${visit.label} ${i}`)
    }
  },
}

/** Situations in the order of the table. */
export const SITUATIONS: readonly Situation[] = [
  NOTHING_WRONG,
  BLOCKED,
  FIRST_SCRIPT,
  OFFLINE,
  CLOSED,
  DIALOG,
]

/** Sequences run in parallel, and the situations of a sequence one after the other. */
export const SEQUENCES: readonly (readonly Situation[])[] = [
  [NOTHING_WRONG, OFFLINE, CLOSED],
  [BLOCKED, FIRST_SCRIPT],
  [DIALOG],
]

/** Opens the page, and stays there until the SDK has started, unless it was blocked. */
async function open({ page, url, blocked }: Visit): Promise<void> {
  await page.goto(url)
  const hasSdk = () => page.evaluate<boolean>('window.Sentry?.getClient?.() !== undefined')
  await until(async () => blocked.length > 0 || (await hasSdk()), SDK_TIMEOUT_MS)
  await sleep(STAY_MS)
}

async function blockInto({ page, blocked }: Visit): Promise<void> {
  const urls = await blockAds(page, readLists())
  page.on('requestfailed', () => blocked.push(...urls.splice(0)))
}

/** Raises uncaught errors one after the other, and returns their messages. */
async function raise({ page, label, plan }: Visit, everyMs: number): Promise<string[]> {
  const messages = Array.from({ length: plan.errors }, (_, i) => `${label} ${i}`)
  for (const message of messages) {
    await page.evaluate((message) => {
      setTimeout(() => {
        throw new Error(message)
      })
    }, message)
    await sleep(everyMs)
  }
  return messages
}

/** Asks for the report dialog as the documentation of the SDK shows, and submits it when it appears. */
async function submitDialog(page: Page, message: string): Promise<void> {
  await page.evaluate(`if (window.Sentry) {
    Sentry.captureMessage('something broke')
    Sentry.showReportDialog()
  }`)
  const field = page.locator('textarea')
  const hasAppeared = await field.waitFor({ timeout: DIALOG_TIMEOUT_MS }).then(
    () => true,
    () => false,
  )
  if (!hasAppeared) return
  await field.fill(message)
  await page.locator('button[type=submit]').click()
  await field.waitFor({ state: 'detached' })
}
