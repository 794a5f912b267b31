/** First envelope of a site after the set-up was opened. */

import { describe, expect, it } from 'vitest'
import type { Receipt, SpoolOutcome } from '../../../../../contract/admin-api.ts'
import {
  type Arrival,
  addFinalOutcomes,
  addReceipt,
  arrivalOf,
  readSite,
} from '../../../../../web/features/console/setup/first-envelope.ts'

const PROJECT = 'sentry.example/1'
const OPENED = 1_000
const EXPECTED = { project: PROJECT, since: OPENED }
const SITE = 'https://shop.example'
const OTHER = 'https://lab.example'

const receipt = (given: Partial<Receipt>): Receipt => ({
  ...{ id: 'a', time: OPENED, project: PROJECT, items: [{ type: 'event', bytes: 1 }], bytes: 1 },
  ...{ outcome: 'delivered', status: 200, duration_ms: 1, replica: 'r' },
  ...given,
})

const receiptsAfter = (receipts: readonly Partial<Receipt>[]) =>
  receipts.reduce<readonly Receipt[]>((known, each) => addReceipt(known, receipt(each), EXPECTED), [])

describe('without the address of a site', () => {
  it.each<[string, Partial<Receipt>, Arrival['state']]>([
    ['a delivered event', { origin: OTHER }, 'unconfirmed'],
    ['a spooled event', { outcome: 'spooled' }, 'spooled'],
    ['an event from before', { time: OPENED - 1 }, 'waiting'],
    ['a client report of the connection check', { items: [{ type: 'client_report', bytes: 1 }] }, 'waiting'],
    ['an event of another project', { project: 'sentry.example/2' }, 'waiting'],
    ['a rejection of another project', { outcome: 'rejected', project: 'sentry.example/2' }, 'waiting'],
    ['a declined event', { outcome: 'declined' }, 'rejected'],
  ])('%s', (_, given, state) => {
    expect(arrivalOf(receiptsAfter([given]), undefined).state).toBe(state)
  })

  it('shows a rejection of an unknown project until an envelope arrives', () => {
    const { project: _, ...unknown } = receipt({ outcome: 'rejected', reason: 'dsn-unknown', items: [] })
    const rejected = addReceipt([], unknown, EXPECTED)
    expect(arrivalOf(rejected, undefined).state).toBe('rejected')
    const accepted = addReceipt(rejected, receipt({}), EXPECTED)
    expect(arrivalOf(addReceipt(accepted, unknown, EXPECTED), undefined).state).toBe('unconfirmed')
  })
})

describe('with the address of a site', () => {
  it('keeps the accepted envelope of the site when many others are rejected', () => {
    const others = Array.from({ length: 150 }, (_, n) => ({
      origin: `https://${n}.example`,
      outcome: 'rejected' as const,
    }))
    const receipts = receiptsAfter([{ origin: SITE }, ...others])
    expect(receipts).toHaveLength(100)
    expect(arrivalOf(receipts, SITE).state).toBe('arrived')
  })

  const rejected = { id: 'rejected', origin: SITE, outcome: 'rejected' } as const
  it.each<[string, Partial<Receipt>[], Arrival['state'], string]>([
    ['an event of the site', [{ origin: SITE }], 'arrived', 'a'],
    ['an event of another site', [{ origin: OTHER }], 'elsewhere', 'a'],
    ['an event without an origin', [{}], 'elsewhere', 'a'],
    ['a rejection of another site', [{ origin: OTHER, outcome: 'rejected' }], 'elsewhere', 'a'],
    ['a rejection of the site', [rejected], 'rejected', 'rejected'],
    [
      'a rejection of the site before an event of another one',
      [rejected, { origin: OTHER }],
      'rejected',
      'rejected',
    ],
    ['an event of the site after a rejection', [rejected, { origin: SITE }], 'arrived', 'a'],
    [
      'a later event and a rejection',
      [{ origin: SITE }, { id: 'b', origin: SITE }, rejected],
      'arrived',
      'a',
    ],
    ['two rejections of the site', [rejected, { ...rejected, id: 'last' }], 'rejected', 'last'],
  ])('%s', (_, given, state, id) => {
    expect(arrivalOf(receiptsAfter(given), SITE)).toMatchObject({ state, receipt: { id } })
  })

  it('shows another result when the address changes', () => {
    const receipts = receiptsAfter([{ origin: OTHER }])
    expect(arrivalOf(receipts, OTHER).state).toBe('arrived')
    expect(arrivalOf(receipts, SITE).state).toBe('elsewhere')
    expect(arrivalOf(receipts, undefined).state).toBe('unconfirmed')
  })
})

it('keeps a bounded number of receipts', () => {
  expect(
    receiptsAfter(Array.from({ length: 150 }, (_, n) => ({ origin: `https://${n}.example` }))),
  ).toHaveLength(100)
})

it.each([
  ['', undefined],
  ['https://shop.example/checkout?x=1', SITE],
  [' shop.example ', SITE],
  ['http://127.0.0.1:5173/', 'http://127.0.0.1:5173'],
  ['ftp://shop.example', undefined],
])('reads the site %j as %s', (text, site) => {
  expect(readSite(text)).toBe(site)
})

describe('a spooled envelope', () => {
  const spooled = receiptsAfter([{ id: 'x', origin: SITE, outcome: 'spooled', upstream_status: 403 }])
  const settled = (final_outcome: SpoolOutcome['final_outcome'], receipt = 'x') =>
    arrivalOf(
      addFinalOutcomes(spooled, [
        {
          ...{ receipt, final_outcome, time: OPENED, waited_ms: 1 },
          ...{ project: PROJECT, category: 'error', replica: 'r' },
        },
      ]),
      SITE,
    )

  it('has not arrived until the upstream has accepted it', () => {
    expect(arrivalOf(spooled, SITE).state).toBe('spooled')
    expect(settled('delivered', 'other').state).toBe('spooled')
    expect(settled('delivered').state).toBe('arrived')
    expect(settled('declined').state).toBe('rejected')
  })
})
