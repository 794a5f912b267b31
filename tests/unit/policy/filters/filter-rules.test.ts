/** Rules for browser extensions, crawlers and health checks. */

import { describe, expect, it } from 'vitest'
import {
  BROWSER_EXTENSION_FRAME,
  BROWSER_EXTENSION_VALUE,
  isHealthCheck,
  isWebCrawler,
} from '../../../../tunnel/src/policy/filters/filter-rules.ts'

const CHROME =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36'

describe('isWebCrawler', () => {
  it.each([
    'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
    'Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)',
    'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)',
    'facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)',
    'Mozilla/5.0 (compatible; YandexBot/3.0; +http://yandex.com/bots)',
    'Slack-ImgProxy (+https://api.slack.com/robots)',
    'Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)',
    'Better Uptime Bot Mozilla/5.0',
    'ELB-HealthChecker/2.0',
    'Baiduspider+(+http://www.baidu.com/search/spider.htm)',
    'somebot',
  ])('returns true for %s', (userAgent) => {
    expect(isWebCrawler(userAgent)).toBe(true)
  })

  it.each([
    undefined,
    '',
    CHROME,
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Safari/605.1.15',
    'Slackbot 1.0 (+https://api.slack.com/robots)',
    'SentryUptimeBot/1.0 (+http://docs.sentry.io/product/alerts/uptime-monitoring/)',
    'Mozilla/5.0 (compatible; ChatGPT-User/1.0; +https://openai.com/bot)',
    'Robotics/1.0',
  ])('returns false for %s', (userAgent) => {
    expect(isWebCrawler(userAgent)).toBe(false)
  })
})

describe('isHealthCheck', () => {
  it.each([
    'GET /health',
    'GET /api/healthz',
    '/livez',
    '/READYZ',
    'GET /ping',
    'POST /v1/healthcheck/deep',
    'worker.heartbeat',
    '/_health',
    '/[_health]',
    '/live',
    '/ready',
    '/healthy',
  ])('returns true for the transaction %s', (name) => {
    expect(isHealthCheck(name)).toBe(true)
  })

  it.each(['/healthcare', '/health/records', 'ping', '/shipping', '/alive', '/already', ''])(
    'returns false for the transaction %j',
    (name) => {
      expect(isHealthCheck(name)).toBe(false)
    },
  )
})

describe('The patterns of browser extensions', () => {
  it.each([
    "Can't find variable: ZiteReader",
    'Extension context invalidated.',
    "null is not an object (evaluating 'elt.parentNode')",
    "TypeError: can't access dead object",
    'ReferenceError: top.GLOBALS is not defined',
    '_gCrWeb is gone',
  ])('match the error value %s', (value) => {
    expect(BROWSER_EXTENSION_VALUE.test(value)).toBe(true)
  })

  it.each([
    'chrome-extension://abcdef/content.js',
    'chrome://global/content.js',
    'moz-extension://abc/x.js',
    'safari-extension://com.example/x.js',
    'safari-web-extension://ABC/x.js',
    'https://connect.facebook.net/en_US/sdk.js',
    'https://gc.kaspersky-labs.com/x.js',
    'http://127.0.0.1:4001/isrunning',
  ])('match the frame %s', (path) => {
    expect(BROWSER_EXTENSION_FRAME.test(path)).toBe(true)
  })

  it.each(['https://app.example/chrome-extension://x.js', 'https://app.example/main.js', ''])(
    'do not match the frame %j',
    (path) => {
      expect(BROWSER_EXTENSION_FRAME.test(path)).toBe(false)
    },
  )

  it('do not match an ordinary error value', () => {
    expect(BROWSER_EXTENSION_VALUE.test("Cannot read properties of undefined (reading 'parentNode')")).toBe(
      false,
    )
  })
})
