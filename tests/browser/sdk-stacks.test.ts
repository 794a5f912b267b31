/** Stack traces of the same errors in pages with sdk.js, in each browser, and the groups of the inbox that they get. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { groupOf } from '../../tunnel/src/envelope/grouping.ts'
import { ENGINES, requiresEngine, startEngine } from '../support/browser/engines.ts'
import { type SdkSite, startSdkSite } from '../support/browser/sdk-site.ts'
import { requires } from '../support/requirements.ts'

const TAG = '<script src="/monitoring/sdk.js" crossorigin></script>'
const ERRORS = {
  'script of a blob': 'inBlob()',
  attribute: "document.querySelector('button').click()",
  method: 'new Cart().total()',
  'static method': 'Cart.open()',
  getter: 'new Cart().size',
  setter: 'new Cart().size = 1',
  'private method': 'new Cart().openSecret()',
  'async method': 'new Cart().pay()',
  'arrow function of a field': 'new Cart().ship()',
  callback: 'new Cart().each()',
  iterator: '[...new Cart()]',
  constructor: 'new Order()',
  'method of an object': 'shop.buy()',
  'function of an object': 'shop.sell()',
  'nested object': 'shop.back.office()',
  'method of a prototype': 'new Old().total()',
  'member of a function': 'Old.create()',
  function: 'plain()',
  'nested function': 'outer()',
  'arrow function': 'outerOfArrow()',
}
const LOAD_BLOB = `new Promise((resolve) => {
  const script = document.createElement('script')
  const code = "function inBlob() { throw new Error('script of a blob') }"
  script.src = URL.createObjectURL(new Blob([code], { type: 'text/javascript' }))
  script.onload = () => resolve(true)
  document.body.append(script)
})`
const CODE = `
class Cart {
  total() { throw new Error('method') }
  static open() { throw new Error('static method') }
  get size() { throw new Error('getter') }
  set size(value) { throw new Error('setter') }
  #secret() { throw new Error('private method') }
  openSecret() { this.#secret() }
  async pay() { await null; throw new Error('async method') }
  ship = () => { throw new Error('arrow function of a field') }
  each() { [1].forEach(() => { throw new Error('callback') }) }
  *[Symbol.iterator]() { throw new Error('iterator') }
}
class Order {
  constructor() { throw new Error('constructor') }
}
const shop = {
  buy() { throw new Error('method of an object') },
  sell: function () { throw new Error('function of an object') },
  back: { office: () => { throw new Error('nested object') } },
}
function Old() {}
Old.prototype.total = function () { throw new Error('method of a prototype') }
Old.create = function () { throw new Error('member of a function') }
function plain() { throw new Error('function') }
function outer() { (function () { throw new Error('nested function') })() }
function outerOfArrow() { const inner = () => { throw new Error('arrow function') }; inner() }
const errors = {
  ${Object.entries(ERRORS)
    .map(([name, expression]) => `'${name}': () => ${expression}`)
    .join(',\n  ')}
}
function raise(name) { setTimeout(() => errors[name]()) }
throw new Error('script')`

/** Errors in functions that were assigned, which have a name in Chromium and Firefox only. */
const NAMELESS_IN_WEBKIT = [
  'arrow function of a field',
  'iterator',
  'method of a prototype',
  'member of a function',
]

type Frame = { filename: string; lineno: number }

describe('Errors in pages with sdk.js', requires('nginx'), () => {
  const started = new AsyncDisposableStack()
  /** Groups of the errors in the browsers before. */
  const groups = new Map<string, string>()
  let site: SdkSite
  let page: string

  beforeAll(async () => {
    site = started.use(await startSdkSite())
    page = site.publish(
      `<body><button onclick="throw new Error('attribute')">a</button>${TAG}<script>${CODE}</script>`,
    )
  })
  afterAll(() => started.disposeAsync())

  for (const name of ENGINES)
    it(
      `have the place of the error in ${name}, and the same group as in the others`,
      requiresEngine(name),
      async () => {
        await using engine = await startEngine(name)
        await using visitor = await engine.visitor()
        const tab = await visitor.newTab()
        await tab.open(page)
        await tab.waitFor('Boolean(window.Sentry?.getClient)')
        await tab.evaluate(LOAD_BLOB)
        for (const error of Object.keys(ERRORS)) await tab.evaluate(`raise('${error}')`)
        const lines = CODE.split('\n')
        for (const error of ['script', ...Object.keys(ERRORS)]) {
          const event = await site.event(error)
          const frames: Frame[] = event.exception.values[0].stacktrace.frames
          const lineno = Math.max(1, 1 + lines.findIndex((line) => line.includes(`Error('${error}')`)))
          const filename = error === 'script of a blob' ? expect.stringMatching(/^blob:/) : page
          expect.soft(frames.at(-1), error).toMatchObject({ filename, lineno })
          const group = groupOf(event)?.id ?? ''
          if (name === 'webkit' && NAMELESS_IN_WEBKIT.includes(error)) continue
          expect.soft(group, error).toBe(groups.get(error) ?? group)
          groups.set(error, group)
        }
      },
    )
})
