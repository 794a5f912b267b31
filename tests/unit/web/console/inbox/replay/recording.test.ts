/** Recordings from untrusted JSON: what the player gets of them. */

import { describe, expect, it } from 'vitest'
import { MAX_EVENTS } from '../../../../../../web/features/console/inbox/replay/messages.ts'
import { readRecording } from '../../../../../../web/features/console/inbox/replay/recording.ts'

type Node = { type: number; tagName?: unknown; attributes?: object; childNodes?: Node[] }

const element = (tagName: unknown, attributes = {}, childNodes: Node[] = []): Node => ({
  ...{ type: 2, tagName, attributes, childNodes },
})
const snapshot = (node: Node, timestamp = 2) => ({ type: 2, timestamp, data: { node } })
const meta = { type: 4, timestamp: 1, data: { width: 800, height: 600 } }
const change = (data: object, timestamp = 3) => ({ type: 3, timestamp, data })
const read = (...segments: unknown[]) => readRecording(segments.map((each) => JSON.stringify(each)))

describe('readRecording', () => {
  it('returns the events of all segments in the order of time, from the first whole page', () => {
    const [page, early, late] = [snapshot(element('html')), change({ a: 1 }, 0.5), change({ b: 1 }, 9)]
    expect(read([late], [early, meta, page])).toEqual({ events: [meta, page, late] })
  })

  it('leaves out notes of the SDK and what is no event', () => {
    const page = snapshot(element('html'))
    const others = [
      null,
      7,
      [],
      { type: 3 },
      { ...meta, timestamp: '1' },
      { ...meta, type: 5 },
      { ...meta, type: 99 },
    ]
    expect(read([meta, ...others, page])).toEqual({ events: [meta, page] })
  })

  it.each([
    'script',
    'SCRIPT',
    'meta',
    'base',
    'iframe',
    'frame',
    'object',
    'embed',
    'link',
    'video',
    7,
    null,
  ])('replaces an element %j in a page and in a change', (tagName) => {
    const unsafe = element(tagName, { href: 'https://evil.example', rel: 'preconnect' })
    const added = change({ source: 0, adds: [{ parentId: 1, node: element('div', {}, [unsafe]) }] })
    const all = JSON.stringify(read([meta, snapshot(element('html', {}, [unsafe])), added]))
    expect(all.split('"tagName":"rr-removed"')).toHaveLength(3)
    expect(all).not.toContain(`"tagName":${JSON.stringify(tagName)}`)
  })

  it('keeps a stylesheet that the recording contains, as one that cannot become a link again', () => {
    const attributes = { rel: 'stylesheet', _cssText: 'p{color:red}' }
    const page = snapshot(element('link', attributes))
    expect(read([meta, page])).toEqual({ events: [meta, snapshot(element('style', attributes))] })
  })

  it.each<[what: string, segments: string[], problem: string]>([
    ['nothing', [], 'unreadable'],
    ['no JSON', ['\u0000'], 'unreadable'],
    ['JSON that is no list', ['{"0":{}}'], 'unreadable'],
    ['events of an unknown version', ['[{"kind":"page","at":1}]'], 'unreadable'],
    ['changes alone', [JSON.stringify([meta, change({})])], 'no-snapshot'],
    ['too many events', [JSON.stringify(Array(MAX_EVENTS + 1).fill(meta))], 'too-large'],
  ])('says why %s cannot be played', (_, segments, problem) => {
    expect(readRecording(segments)).toEqual({ problem })
  })

  it('replaces an element below 100,000 others', () => {
    const deep = `${'{"childNodes":['.repeat(100_000)}{"tagName":"script"}${']}'.repeat(100_000)}`
    const text = `[${JSON.stringify(meta)},{"type":2,"timestamp":2,"data":{"node":${deep}}}]`
    const recording = readRecording([text])
    let node: unknown = 'events' in recording && Object(recording.events[1]?.data).node
    for (let level = 0; level < 100_000; level++) node = Object(node).childNodes?.[0]
    expect(node).toEqual({ tagName: 'rr-removed' })
  })
})
