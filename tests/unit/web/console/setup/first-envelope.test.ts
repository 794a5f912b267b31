/** First envelope of a site after the set-up was opened. */

import { expect, it } from 'vitest'
import type { Receipt } from '../../../../../tunnel/src/contract.ts'
import {
  type Arrival,
  addReceipt,
  readSite,
} from '../../../../../web/features/console/setup/first-envelope.ts'

const PROJECT = 'sentry.example/1'
const OPENED = 1_000
const EXPECTED = { project: PROJECT, since: OPENED }
const SITE = 'https://shop.example'

const receipt = (given: Partial<Receipt>): Receipt => ({
  ...{ id: 'a', time: OPENED, project: PROJECT, items: [{ type: 'event', bytes: 1 }], bytes: 1 },
  ...{ outcome: 'delivered', status: 200, duration_ms: 1, replica: 'r' },
  ...given,
})

const stateAfter = (...receipts: Partial<Receipt>[]) =>
  receipts.reduce<Arrival>((known, each) => addReceipt(known, receipt(each), EXPECTED), {
    state: 'waiting',
  }).state

it.each<[string, Partial<Receipt>, Arrival['state']]>([
  ['a delivered event', {}, 'arrived'],
  ['a spooled event', { outcome: 'spooled' }, 'arrived'],
  ['an event from before', { time: OPENED - 1 }, 'waiting'],
  ['a client report of the connection check', { items: [{ type: 'client_report', bytes: 1 }] }, 'waiting'],
  ['an event of another project', { project: 'sentry.example/2' }, 'waiting'],
  ['a rejection of another project', { outcome: 'rejected', project: 'sentry.example/2' }, 'waiting'],
  ['a declined event', { outcome: 'declined' }, 'rejected'],
])('%s', (_, given, state) => {
  expect(stateAfter(given)).toBe(state)
})

it('shows a rejection until an envelope arrives, and keeps that', () => {
  const { project: _, ...unknown } = receipt({ outcome: 'rejected', reason: 'dsn-unknown', items: [] })
  const rejected = addReceipt({ state: 'waiting' }, unknown, EXPECTED)
  expect(rejected.state).toBe('rejected')
  const arrived = addReceipt(rejected, receipt({}), EXPECTED)
  expect(arrived.state).toBe('arrived')
  expect(addReceipt(arrived, unknown, EXPECTED)).toBe(arrived)
})

it.each<[string, Partial<Receipt>, Arrival['state']]>([
  ['an event of the site', { origin: SITE }, 'arrived'],
  ['an event of another site', { origin: 'https://lab.example' }, 'elsewhere'],
  ['an event without an origin', {}, 'elsewhere'],
  ['a rejection of another site', { origin: 'https://lab.example', outcome: 'rejected' }, 'elsewhere'],
  ['a rejection of the site', { origin: SITE, outcome: 'rejected' }, 'rejected'],
])('with the address of a site: %s', (_, given, state) => {
  expect(addReceipt({ state: 'waiting' }, receipt(given), { ...EXPECTED, site: SITE }).state).toBe(state)
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
