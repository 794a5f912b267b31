/** Item types: categories, quantities, Relay's limits, and dependants. */

import { describe, expect, it } from 'vitest'
import { Rejection } from '../../../contract/rejections.ts'
import {
  addDependants,
  categoriesOf,
  checkItems,
  ITEM_TYPES,
  type Item,
  limitNameOf,
  quantitiesOf,
} from '../../../tunnel/src/envelope/items.ts'
import { mostImportant, priorityOf } from '../../../tunnel/src/envelope/priorities.ts'
import { attempt, codeOf } from '../../support/rejection.ts'

const KIB = 1024
const MIB = 1024 * KIB

function itemOf(type: string, bytes = 2, header: Record<string, unknown> = {}): Item {
  return { type, header: { type, ...header }, range: [0, bytes], bytes, payload: [] }
}

const times = (count: number, item: Item) => Array.from({ length: count }, () => ({ ...item }))

describe('The categories of an item', () => {
  it.each([
    ['event', ['error']],
    ['transaction', ['transaction']],
    ['attachment', ['attachment', 'attachment_item']],
    ['feedback', ['feedback']],
    ['user_report', ['feedback']],
    ['session', ['session']],
    ['sessions', ['session']],
    ['replay_event', ['replay']],
    ['replay_recording', ['replay']],
    ['replay_video', ['replay']],
    ['profile', ['profile', 'transaction']],
    ['profile_chunk', ['profile_chunk']],
    ['check_in', ['monitor']],
    ['span', ['span']],
    ['log', ['log_item', 'log_byte']],
    ['trace_metric', ['trace_metric', 'trace_metric_byte']],
    ['raw_security', ['security']],
    ['statsd', ['metric_bucket']],
  ])('of type %s are the categories %j of Relay', (type, categories) => {
    expect(categoriesOf(itemOf(type))).toEqual(categories)
  })

  it.each(['client_report', 'nel', 'form_data', 'invented', '', 'constructor', '__proto__', 'toString'])(
    'are empty for the type %j, which is never limited',
    (type) => {
      expect(categoriesOf(itemOf(type))).toEqual([])
    },
  )

  it.each([
    ...['event.minidump', 'event.applecrashreport', 'event.payload', 'event.breadcrumbs'].map(
      (name) => [name, ['error']] as const,
    ),
    ...['event.attachment', 'event.view_hierarchy', 'unreal.context', 'invented'].map(
      (name) => [name, ['attachment', 'attachment_item']] as const,
    ),
  ])('of an attachment of the type %s are %j', (attachment_type, categories) => {
    expect(categoriesOf(itemOf('attachment', 2, { attachment_type }))).toEqual(categories)
  })

  it.each([
    ['profile_chunk', { platform: 'javascript' }, ['profile_chunk_ui']],
    ['profile_chunk', { platform: 'python' }, ['profile_chunk']],
    ['profile_chunk', { platform: 'android' }, ['profile_chunk_ui']],
    ['profile_chunk', { platform: 'cocoa' }, ['profile_chunk_ui']],
    ['profile_chunk_ui', {}, ['profile_chunk_ui']],
    ['profile_chunk_ui', { platform: 'python' }, ['profile_chunk']],
    ['profile', { platform: 'android' }, ['profile', 'transaction', 'profile_ui']],
    ['profile', { platform: 'node' }, ['profile', 'transaction', 'profile_backend']],
    ['otel_span', {}, ['span']],
    ['otel_traces_data', {}, ['span']],
    ['otel_log', {}, ['log_item', 'log_byte']],
  ])('of the type %s with %j are %j', (type, header, categories) => {
    expect(new Set(categoriesOf(itemOf(type, 2, header)))).toEqual(new Set(categories))
  })
})

describe('The quantity of an item', () => {
  it.each([
    ['an attachment', itemOf('attachment', 700), 700],
    ['an empty attachment', itemOf('attachment', 0), 1],
    ['a container of logs', itemOf('log', 700, { item_count: 12 }), 12],
    ['an event', itemOf('event', 700), 1],
  ])('is the quantity that Relay counts for %s', (_, item, quantity) => {
    expect(quantitiesOf(item)[0]?.quantity).toBe(quantity)
  })

  it('is taken from item_count only for containers', () => {
    const [counted] = quantitiesOf(itemOf('event', 700, { item_count: 300 }))
    expect(counted).toEqual({ category: 'error', quantity: 1 })
  })

  it('is listed for each category that Sentry counts, and is empty for sessions', () => {
    expect(quantitiesOf(itemOf('attachment', 700)).map(({ category }) => category)).toEqual([
      'attachment',
      'attachment_item',
    ])
    expect(quantitiesOf(itemOf('log', 700, { item_count: 3 }))).toContainEqual({
      category: 'log_byte',
      quantity: 700,
    })
    expect(quantitiesOf(itemOf('session'))).toEqual([])
  })

  it.each([0, -3, 1.5, '12', null, true])('is 1 when item_count is %j', (item_count) => {
    expect(quantitiesOf(itemOf('log', 700, { item_count }))[0]?.quantity).toBe(1)
  })
})

type Row = [type: string, bytes: number, header: Record<string, unknown>]

/** Returns a row of a table for each type. */
const allOf = (limit: number, ...types: string[]) => types.map((type): Row => [type, limit, {}])

describe('The size limit of items', () => {
  it.each<Row>([
    ...allOf(MIB, 'event', 'transaction', 'feedback', 'replay_event', 'raw_security', 'form_data', 'statsd'),
    ...allOf(10 * MIB, 'replay_recording', 'replay_video', 'session', 'sessions', 'span'),
    ...allOf(100 * KIB, 'client_report', 'check_in'),
    ...allOf(50 * MIB, 'profile', 'profile_chunk'),
    ...allOf(200 * MIB, 'attachment', 'user_report'),
    ['log', 2 * MIB, { item_count: 1 }],
    ['log', 12 * MIB, { item_count: 100 }],
    ['trace_metric', MIB, { item_count: 1 }],
    ['trace_metric', 12 * MIB, { item_count: 100 }],
    ['span', 10 * MIB, { item_count: 1 }],
    ['span', 12 * MIB, { item_count: 100 }],
  ])('allows %s with %i bytes and header %j, and rejects one byte more', (type, bytes, header) => {
    expect(codeOf(() => checkItems([itemOf(type, bytes, header)]))).toBe('taken')
    expect(codeOf(() => checkItems([itemOf(type, bytes + 1, header)]))).toBe('item-too-large')
  })

  it('uses the average size of the entries of a container, with an item_count of at least 1', () => {
    for (const item_count of [0, -5, undefined, '100'])
      expect(codeOf(() => checkItems([itemOf('log', 2 * MIB + 1, { item_count })]))).toBe('item-too-large')
  })

  it('is that of a server with other limits', () => {
    const sizes = { eventBytes: 2 * MIB, itemBytes: 20 * MIB }
    const code = (...items: Item[]) => codeOf(() => checkItems(items, sizes))
    expect([code(itemOf('event', 2 * MIB)), code(itemOf('event', 2 * MIB + 1))]).toEqual([
      'taken',
      'item-too-large',
    ])
    for (const type of ['replay_recording', 'check_in', 'log', 'span', 'profile', 'statsd'])
      expect([code(itemOf(type, 20 * MIB)), code(itemOf(type, 20 * MIB + 1))]).toEqual([
        'taken',
        'item-too-large',
      ])
    expect(code(...times(3, itemOf('session', 20 * MIB)))).toBe('taken')
    expect(code(...times(2, itemOf('event', 1)))).toBe('item-too-many')
  })

  it('applies to the sum of items of one kind', () => {
    const session = itemOf('session', 5 * MIB)
    expect(codeOf(() => checkItems(times(2, session)))).toBe('taken')
    expect(codeOf(() => checkItems([...times(2, session), itemOf('sessions', 1)]))).toBe('item-too-large')
    const attachment = itemOf('attachment', 100 * MIB)
    expect(codeOf(() => checkItems([...times(2, attachment), itemOf('attachment', 1)]))).toBe(
      'item-too-large',
    )
  })

  it('does not apply to unknown types', () => {
    expect(codeOf(() => checkItems([itemOf('invented', 500 * MIB), itemOf('nel', 500 * MIB)]))).toBe('taken')
  })
})

describe('The count limit of items', () => {
  it.each([
    ...allOf(
      1,
      'event',
      'transaction',
      'feedback',
      'replay_event',
      'replay_recording',
      'profile',
      'check_in',
    ),
    ...allOf(1, 'log', 'trace_metric', 'statsd'),
    ...allOf(25, 'span'),
    ...allOf(30, 'attachment'),
    ...allOf(100, 'session', 'client_report'),
  ])('allows %s %i times, and rejects one more', (type, count) => {
    expect(codeOf(() => checkItems(times(count, itemOf(type))))).toBe('taken')
    expect(codeOf(() => checkItems(times(count + 1, itemOf(type))))).toBe('item-too-many')
  })

  it.each([
    ['replay_recording', 'replay_video'],
    ['statsd', 'metric_buckets'],
  ])('counts %s apart from %s', (one, other) => {
    expect(codeOf(() => checkItems([itemOf(one), itemOf(other)]))).toBe('taken')
    expect(codeOf(() => checkItems([itemOf(one), ...times(2, itemOf(other))]))).toBe('item-too-many')
  })

  it('allows only one container of spans', () => {
    const container = itemOf('span', 2, { item_count: 1 })
    expect(codeOf(() => checkItems(times(2, container)))).toBe('item-too-many')
  })

  it.each([
    ['event', 'transaction'],
    ['feedback', 'transaction'],
    ['profile', 'profile_chunk'],
  ])('rejects %s beside %s', (one, other) => {
    expect(codeOf(() => checkItems([itemOf(one), itemOf(other)]))).toBe('item-too-many')
  })

  it('allows one item of every kind together, and any number of unknown items', () => {
    const kinds = ['event', 'replay_recording', 'session', 'client_report', 'profile', 'check_in', 'log']
    expect(codeOf(() => checkItems(kinds.map((type) => itemOf(type))))).toBe('taken')
    expect(codeOf(() => checkItems(times(1000, itemOf('invented'))))).toBe('taken')
  })

  it('names the type, the count and the maximum in its rejection', () => {
    const rejection = attempt(() => checkItems(times(101, itemOf('session'))))
    if (!(rejection instanceof Rejection)) throw new Error('it was taken')
    expect(rejection).toMatchObject({ status: 413 })
    expect(rejection.causes.join()).toBe('It has 101 sessions; the maximum is 100.')
  })
})

describe('Removing dependants', () => {
  it.each([
    ['event', ['event', 'attachment', 'attachment'], ['event', 'attachment', 'attachment']],
    ['feedback', ['feedback', 'attachment'], ['feedback', 'attachment']],
    ['transaction', ['transaction', 'profile', 'attachment'], ['transaction', 'profile', 'attachment']],
    ['replay_event', ['replay_event', 'replay_recording'], ['replay_event', 'replay_recording']],
    ['replay_recording', ['replay_event', 'replay_recording'], ['replay_event', 'replay_recording']],
    ['event', ['event', 'session', 'client_report', 'check_in', 'invented'], ['event']],
    ['attachment', ['event', 'attachment'], ['attachment']],
    ['profile', ['transaction', 'profile'], ['profile']],
    ['session', ['session', 'attachment'], ['session']],
    ['replay_event', ['replay_event', 'event', 'attachment'], ['replay_event']],
  ])('of each %s from %j removes %j', (gone, types, expected) => {
    const items = types.map((type) => itemOf(type))
    const dropped = new Set(items.filter(({ type }) => type === gone))
    addDependants(items, dropped)
    expect(items.filter((item) => dropped.has(item)).map(({ type }) => type)).toEqual(expected)
  })

  it('removes nothing when no item is removed', () => {
    const dropped = new Set<Item>()
    addDependants([itemOf('event'), itemOf('attachment'), itemOf('replay_event')], dropped)
    expect(dropped.size).toBe(0)
  })
})

describe('The category that a limit of Culvert names', () => {
  it.each([
    ['event', 'error'],
    ['log', 'log_item'],
    ['client_report', 'internal'],
    ['invented', 'default'],
    ['constructor', 'default'],
  ])('of an item of type %s is %s', (type, name) => {
    expect(limitNameOf(itemOf(type))).toBe(name)
  })
})

describe('The known item types', () => {
  it('contain event, and no name that Object.prototype has', () => {
    expect(ITEM_TYPES.has('event')).toBe(true)
    for (const type of ['invented', 'constructor', '__proto__']) expect(ITEM_TYPES.has(type)).toBe(false)
  })
})

it('Security reports are less important than errors and sessions, and as important as logs', () => {
  expect(mostImportant(['security', 'error'])).toBe('error')
  expect(mostImportant(['security', 'session'])).toBe('session')
  expect(priorityOf('security')).toBe(priorityOf('log_item'))
})
