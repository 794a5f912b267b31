/** Query of the inbox's pages. */

import { expect, it } from 'vitest'
import {
  DAY,
  readInboxQuery,
  readListQuery,
  stepsUntil,
} from '../../../../../web/features/console/inbox/inbox-query.ts'

it('reads known parameters, trimmed and cut, and leaves out empty, repeated and unknown ones', () => {
  expect(
    readInboxQuery({
      ...{ search: ' pay ', release: 'x'.repeat(300), environment: '  ', group: ['a', 'b'] },
      ...{ type: 'event', after: '7', all: '1' },
    }),
  ).toEqual({ search: 'pay', release: 'x'.repeat(200), type: 'event' })
})

it.each([
  ['issues by default', {}, 'event'],
  ['issues for an unknown type', { type: 'no-such-type' }, 'event'],
  ['the given tab', { type: 'session' }, 'session'],
  ['all types of a replay', { replay: 'r' }, 'all'],
  ['all types of a group', { group: 'g' }, 'all'],
  ['all types of a search', { search: 's' }, 'all'],
  ['the given tab of a search', { search: 's', type: 'event' }, 'event'],
])('selects %s', (_, query, type) => {
  expect(readInboxQuery(query)).toEqual({ ...query, type })
})

it('counts 24 whole hours, the last one in progress', () => {
  const hour = 3_600_000
  const { from, step, steps } = stepsUntil(1000 * hour + 5, DAY)
  expect([from, step, steps]).toEqual([`${977 * hour}`, `${hour}`, '24'])
})

it('keeps filters and page of the list, and nothing else', () => {
  const list = { type: 'event', release: 'shop@1', after: 'a=7' }
  expect(readListQuery({ ...list, from: '50', did: 'delete' })).toMatchObject(list)
  expect(Object.keys(readListQuery({ from: '50', did: 'delete' }))).not.toContain('from')
})
