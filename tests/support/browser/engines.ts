/** Browsers by the name of their engine. */

import { requires } from '../requirements.ts'
import { shareChromium } from './chromium.ts'
import { startFirefox } from './firefox.ts'
import { type Engine, waitFor } from './tab.ts'
import { startWebKit } from './webkit.ts'

export const ENGINES = ['chromium', 'firefox', 'webkit'] as const

export type EngineName = (typeof ENGINES)[number]

const START: Record<EngineName, () => Promise<Engine>> = {
  chromium: startChromiumEngine,
  firefox: startFirefox,
  webkit: startWebKit,
}

export function startEngine(name: EngineName): Promise<Engine> {
  return START[name]()
}

/** Options of a suite that needs this browser and a site. */
export function requiresEngine(name: EngineName) {
  return requires(name, 'nginx')
}

async function startChromiumEngine(): Promise<Engine> {
  const chromium = await shareChromium()
  return {
    visitor: async () => {
      const visitor = await chromium.visitor()
      visitor.allowTrouble(/./) // the other browsers do not report any
      const context = visitor.page.context()
      const requests: string[] = []
      context.on('request', (request) => requests.push(request.url()))
      return {
        requests,
        newTab: async () => {
          const page = await context.newPage()
          const evaluate = (expression: string) => page.evaluate(expression)
          return {
            open: async (url) => void (await page.goto(url, { waitUntil: 'load' })),
            evaluate,
            waitFor: (expression) => waitFor(evaluate, expression),
            close: () => page.close(),
          }
        },
        setOffline: (state) => context.setOffline(state === 'offline'),
        [Symbol.asyncDispose]: () => visitor[Symbol.asyncDispose](),
      }
    },
    [Symbol.asyncDispose]: async () => {},
  }
}
