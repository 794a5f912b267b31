/** Starts the tunnel with Node's compile cache, which saves time and memory. */

import { enableCompileCache, flushCompileCache } from 'node:module'
import { join } from 'node:path'

const COMPILED = join(import.meta.dirname, '../.compiled') // not a folder that other users can write to

enableCompileCache(COMPILED)
process.env.NODE_COMPILE_CACHE ??= COMPILED // for worker threads
const { run } = await import('./run.ts')
await run(process.env)
flushCompileCache()
