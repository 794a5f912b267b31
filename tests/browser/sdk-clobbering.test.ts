/** Pages with elements that have the names of what sdk.js, its bundles, the report dialog and the reach test read (DOM clobbering). */

import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { requiresEngine, startEngine } from '../support/browser/engines.ts'
import { type SdkSite, startSdkSite } from '../support/browser/sdk-site.ts'
import type { Engine, Tab, TabVisitor } from '../support/browser/tab.ts'
import { ROOT } from '../support/node.ts'
import { until } from '../support/until.ts'

const TAG = '<script src="/monitoring/sdk.js" data-traces-sample-rate="1" crossorigin></script>'
const EVIL = 'http://evil.example/monitoring/sdk.js'

/** Elements that can have the name of a property of `document` or `window`, each with the URL of another site. */
const ELEMENTS: Record<string, (name: string) => string> = {
  images: (name) => `<img name="${name}" id="${name}" data-src="${EVIL}">`,
  links: (name) => `<a id="${name}" href="${EVIL}"></a><a id="${name}" name="src" href="${EVIL}"></a>`,
  forms: (name) =>
    `<form name="${name}" id="${name}"><input name="src" value="${EVIL}"><input name="append"></form>`,
  frames: (name) => `<iframe name="${name}" srcdoc=""></iframe>`,
}

/** Names of the frames, of which a page cannot have thousands. */
const FRAMES =
  'currentScript createElement head documentElement readyState addEventListener Sentry sentryOnLoad hasCulvertLoader trustedTypes __SENTRY__ SENTRY_RELEASE'

/** Expression for the names of what documents have. */
const PROPERTIES = `(() => {
  const found = []
  for (const name in document) found.push(name)
  return found
})()`

describe('A page with sdk.js in which elements have the names of globals', requiresEngine('chromium'), () => {
  const started = new AsyncDisposableStack()
  let site: SdkSite
  let browser: Engine
  /** Words of the served files that `window` does not have, and the properties of `document`. */
  let names: string[]
  let visitor: TabVisitor
  let tab: Tab

  beforeAll(async () => {
    site = started.use(await startSdkSite({ REACH_SAMPLE_RATE: '1' }))
    site.sentry.allowUnexpected() // the reach test posts to Sentry itself
    browser = started.use(await startEngine('chromium'))
    const words = [await site.loader(), ...readBundles()].flatMap(
      (text) => text.match(/[a-z_]\w{2,}/gi) ?? [],
    )
    await using other = await browser.visitor()
    const page = await other.newTab()
    await page.open(site.publish('<body>'))
    const list = JSON.stringify([...new Set(words)])
    const globals = (await page.evaluate(`${list}.filter((name) => !(name in window))`)) as string[]
    const properties = (await page.evaluate(PROPERTIES)) as string[]
    expect(globals).toEqual(
      expect.arrayContaining(['Sentry', 'sentryOnLoad', '__SENTRY__', 'SENTRY_RELEASE']),
    )
    expect(properties).toEqual(expect.arrayContaining(['currentScript', 'createElement', 'readyState']))
    names = [...globals, ...properties]
  })
  afterAll(() => started.disposeAsync())

  beforeEach(async () => {
    visitor = await browser.visitor()
    tab = await visitor.newTab()
    return () => visitor[Symbol.asyncDispose]()
  })

  it.each(Object.keys(ELEMENTS))(
    'reports errors, opens its dialog, and loads nothing from elsewhere, with %s',
    async (kind) => {
      const chosen = kind === 'frames' ? FRAMES.split(' ') : names
      const elements = chosen.map((name) => ELEMENTS[kind]?.(name))
      const text = `among ${kind}`
      const code = `<script>throw new Error('${text}')</script>`
      await tab.open(site.publish(`<body>${elements.join('')}${TAG}${code}`))
      const event = await site.event(text)
      expect(event.release).toBeUndefined()
      const dialog =
        "new Promise((onLoad, onError) => Sentry.showReportDialog({ onLoad, onError })).then(() => 'open')"
      expect(await tab.evaluate(dialog)).toBe('open')
      await until(async () => visitor.requests.some((url) => url.endsWith(`/reach${site.query}`)))
      const ofSdk = visitor.requests.filter((url) => url.includes('/sdk'))
      expect([...new Set(ofSdk.map((url) => new URL(url).origin))]).toEqual([site.url])
    },
  )
})

function readBundles(): string[] {
  const folder = join(ROOT, 'tunnel/.sdk')
  return globSync('*.js', { cwd: folder }).map((file) => readFileSync(join(folder, file), 'utf8'))
}
