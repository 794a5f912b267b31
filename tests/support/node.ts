/** The Node that runs Culvert's processes in tests. */

import { resolve } from 'node:path'

export const ROOT = resolve(import.meta.dirname, '../..')

/** This process's own where it is new enough, else the one in `node_modules`. */
export const NODE =
  Number(process.versions.node.split('.')[0]) >= 24
    ? process.execPath
    : resolve(ROOT, 'node_modules/.bin/node')
