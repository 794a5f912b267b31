/** Preloaded into a process of a test: each module that it loads, in any thread, is noted in the file `TEST_MODULES`, one URL a line. */

import { appendFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

const file = process.env.TEST_MODULES ?? ''

registerHooks({
  load(url, context, nextLoad) {
    appendFileSync(file, `${url}\n`)
    return nextLoad(url, context)
  },
})
