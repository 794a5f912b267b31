/** Tabs, which work alike in Chromium, Firefox and WebKit. */

import { until } from '../until.ts'

export type Tab = {
  /** Opens a page, and waits until it has loaded. */
  open(url: string): Promise<void>
  /** Returns the value of an expression, of which JSON has to be able to hold. Awaits promises. */
  evaluate(expression: string): Promise<unknown>
  /** Resolves when the expression is true, or resolves to what is. One that throws is not, as between two pages. */
  waitFor(expression: string): Promise<void>
  close(): Promise<void>
}

/** Visitor with cookies, cache and storage of its own. */
export type TabVisitor = {
  /** URLs that the pages of the visitor have requested. */
  requests: string[]
  newTab(): Promise<Tab>
  setOffline(offline: 'offline' | 'online'): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Browser whose visitors have tabs. `await using` stops it. */
export type Engine = { visitor(): Promise<TabVisitor>; [Symbol.asyncDispose](): Promise<void> }

/** Returns an engine whose visitors are one, with one storage. At the end of each, its tabs are closed, and it is online for the next. */
export async function withOneVisitor(engine: Engine): Promise<Engine> {
  const one = await engine.visitor()
  return {
    async visitor() {
      const tabs: Tab[] = []
      return {
        ...one,
        async newTab() {
          const tab = await one.newTab()
          tabs.push(tab)
          return tab
        },
        async [Symbol.asyncDispose]() {
          for (const tab of tabs) await tab.close().catch(() => {}) // the test may have closed it
          await one.setOffline('online')
        },
      }
    },
    async [Symbol.asyncDispose]() {
      await one[Symbol.asyncDispose]()
      await engine[Symbol.asyncDispose]()
    },
  }
}

/** Implements `Tab.waitFor`. */
export async function waitFor(evaluate: Tab['evaluate'], expression: string): Promise<void> {
  let cause: unknown
  const isTrue = () =>
    evaluate(`Promise.resolve(${expression}).then(Boolean)`).catch((error) => {
      cause = error
    })
  await until(async () => Boolean(await isTrue())).catch(() => {
    throw new Error(`it does not hold: ${expression}`, { cause })
  })
}
