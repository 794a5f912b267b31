/** Node.js that runs Culvert's processes in tests. */

import { resolve } from 'node:path'

export const ROOT = resolve(import.meta.dirname, '../..')

/** Path of this process's Node.js when it is new enough, else of the one in `node_modules`. */
export const NODE =
  Number(process.versions.node.split('.')[0]) >= 24
    ? process.execPath
    : resolve(ROOT, 'node_modules/.bin/node')

/** Environment of a program that a test starts: the PATH, and the modules that Node has compiled, which it then loads in half of the time. */
export const ENVIRONMENT = {
  PATH: process.env.PATH,
  ...(process.env.NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE }),
}
