/** Live heap of this process. */

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Bytes of JavaScript's heap and of buffers, after what nobody needs has been swept out. */
export function heldBytes(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc')
  collect()
  collect() // buffers that the first found are given back by the second
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
