/** Browser and operating system of an event. */

import { describe, expect, it } from 'vitest'
import { browserOf, systemOf } from '../../../contract/user-agent.ts'

const MOZILLA = 'Mozilla/5.0'
const WEBKIT = 'AppleWebKit/537.36 (KHTML, like Gecko)'

const sentBy = (userAgent: string) => ({ request: { headers: { 'User-Agent': userAgent } } })

describe('The User-Agent of an event', () => {
  it.each([
    [
      `${MOZILLA} (Windows NT 10.0; Win64; x64) ${WEBKIT} Chrome/143.0.0.0 Safari/537.36`,
      'Chrome 143',
      'Windows',
    ],
    [`${MOZILLA} (Windows NT 10.0) ${WEBKIT} Chrome/143.0 Safari/537.36 Edg/143.0`, 'Edge 143', 'Windows'],
    [`${MOZILLA} (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0`, 'Firefox 140', 'Linux'],
    [
      `${MOZILLA} (Macintosh; Intel Mac OS X 10_15_7) ${WEBKIT} Version/18.2 Safari/605.1.15`,
      'Safari 18.2',
      'macOS',
    ],
    [
      `${MOZILLA} (iPhone; CPU iPhone OS 18_1 like Mac OS X) ${WEBKIT} Version/18.1 Mobile/15E148 Safari/604.1`,
      'Safari 18.1',
      'iOS 18.1',
    ],
    [
      `${MOZILLA} (Linux; Android 15; K) ${WEBKIT} SamsungBrowser/28.0 Chrome/130.0 Mobile Safari/537.36`,
      'Samsung Internet 28',
      'Android 15',
    ],
    ['curl/8.5.0', '', ''],
  ])('names browser and system of %s', (userAgent, browser, system) => {
    expect([browserOf(sentBy(userAgent)), systemOf(sentBy(userAgent))]).toEqual([browser, system])
  })

  it('is not read when the event has a context', () => {
    const contexts = { browser: { name: 'Brave', version: '1.7' }, os: { name: 'Fedora' } }
    const event = { ...sentBy('Firefox/140.0 Linux'), contexts }
    expect([browserOf(event), systemOf(event)]).toEqual(['Brave 1.7', 'Fedora'])
  })

  it('is found in a list of headers, and in no other values', () => {
    expect(browserOf({ request: { headers: [null, ['user-agent', 'Firefox/140.0']] } })).toBe('Firefox 140')
    for (const headers of [7, [7], { 'User-Agent': {} }, null])
      expect(browserOf({ request: { headers } })).toBe('')
  })
})
