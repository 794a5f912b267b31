/** Patterns of Sentry's inbound filters: browser extensions, crawlers, health checks (relay-filter), and of Next.js's own signals. */

import { compileGlobs, type Matcher } from './glob.ts'

/** Exception values of extensions and of scripts injected by ISPs (relay-filter/src/browser_extensions.rs). */
export const BROWSER_EXTENSION_VALUE = new RegExp(
  [
    String.raw`top\.GLOBALS`,
    'originalCreateNotification',
    'canvas.contentDocument',
    'MyApp_RemoveAllHighlights',
    String.raw`http://tt\.epicplay\.com`,
    "Can't find variable: ZiteReader",
    'jigsaw is not defined',
    'ComboSearch is not defined',
    String.raw`http://loading\.retry\.widdit\.com/`,
    'atomicFindClose',
    'fb_xd_fragment',
    'bmi_SafeAddOnload',
    'EBCallBackMessageReceived',
    '_gCrWeb',
    'conduitPage',
    String.raw`null is not an object \(evaluating 'elt.parentNode'\)`,
    String.raw`plugin\.setSuspendState is not a function`,
    'Extension context invalidated',
    'webkit-masked-url:',
    "can't access dead object",
  ].join('|'),
  'i',
)

/** Paths of stack frames in extensions. */
export const BROWSER_EXTENSION_FRAME = new RegExp(
  [
    String.raw`graph\.facebook\.com`,
    String.raw`connect\.facebook\.net`,
    String.raw`eatdifferent\.com\.woopra-ns\.com`,
    String.raw`static\.woopra\.com\/js\/woopra\.js`,
    '^chrome(-extension)?://',
    '^moz-extension://',
    '^safari(-web)?-extension://',
    'webkit-masked-url',
    String.raw`127\.0\.0\.1:4001\/isrunning`,
    String.raw`webappstoolbarba\.texthelp\.com\/`,
    String.raw`metrics\.itunes\.apple\.com\.edgesuite\.net\/`,
    String.raw`kaspersky-labs\.com`,
  ].join('|'),
  'i',
)

// relay-filter/src/web_crawlers.rs
const CRAWLERS = new RegExp(
  [
    'Mediapartners-Google',
    'AdsBot-Google',
    'Googlebot',
    'FeedFetcher-Google',
    'Storebot-Google',
    'BingBot',
    'BingPreview',
    'Baiduspider',
    'Slurp',
    'Sogou',
    'facebook',
    'meta-',
    'ia_archiver',
    String.raw`bots?([/\s);]|$)`,
    String.raw`spider([/\s);]|$)`,
    'Slack',
    String.raw`Calypso\sAppCrawler`,
    'pingdom',
    'lyticsbot',
    String.raw`AWS\sSecurity\sScanner`,
    String.raw`HubSpot\sCrawler`,
    'Bytespider',
    String.raw`Better\sUptime`,
    'Cloudflare-Healthchecks',
    'GTmetrix',
    'BrightEdgeOnCrawl',
    'ELB-HealthChecker',
    'naver.me/spd',
    'ClaudeBot',
    'CCBot',
    'OAI-SearchBot',
    'GPTBot',
    'PerplexityBot',
    'Applebot',
    'DuckDuckBot',
  ].join('|'),
  'i',
)
const ALLOWED_CRAWLERS = /Slackbot\s1\.\d+|SentryUptimeBot|ChatGPT-User/i

export function isWebCrawler(userAgent: string | undefined): boolean {
  return userAgent !== undefined && CRAWLERS.test(userAgent) && !ALLOWED_CRAWLERS.test(userAgent)
}

/** Matches transaction names of health checks, with the globs that Sentry gives to Relay. */
export const isHealthCheck: Matcher =
  compileGlobs([
    '*healthcheck*',
    '*heartbeat*',
    '*/{health,healthy,healthz,_health,live,livez,ready,readyz,ping}',
    String.raw`*/\[_health\]`,
  ]) ?? (() => false)

/** Names that `@sentry/nextjs` gives to the not-found page, and versions before 11 to a page load or navigation that never ended. */
export const NEXT_NOISE_NAME =
  /^(incomplete-app-router-transaction|((GET|HEAD|POST|PUT|DELETE|CONNECT|OPTIONS|TRACE|PATCH) )?\/(404|_not-found))$/

/** Messages of the errors by which Next.js redirects, and shows the not-found page. */
export const NEXT_SIGNAL = /^(NEXT_REDIRECT|NEXT_NOT_FOUND|NEXT_HTTP_ERROR_FALLBACK;404)$/
