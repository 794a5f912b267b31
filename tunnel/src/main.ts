/** Starts the tunnel. What Node has made of the sources is kept beside them, so that the next start takes less time and memory. */

import { enableCompileCache, flushCompileCache } from 'node:module'
import { join } from 'node:path'

const COMPILED = join(import.meta.dirname, '../.compiled') // a folder that all may write to could hold others' code

enableCompileCache(COMPILED)
process.env.NODE_COMPILE_CACHE ??= COMPILED // its threads read it
const { run } = await import('./run.ts')
await run(process.env)
flushCompileCache()
