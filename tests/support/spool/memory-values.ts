/** Value that replicas share, in memory. */

import type { SharedState } from '../../../tunnel/src/pipeline/shared-state.ts'

/** The next write can fail before or after it takes effect. */
export class MemoryValues implements Pick<SharedState, 'get' | 'put' | 'clockOffsetMs'> {
  failure: 'none' | 'before' | 'after' = 'none'
  writes = 0
  value: string | undefined

  async get() {
    return { value: this.value, revision: this.writes }
  }

  async put(_: string, value: string, revision: number) {
    const { failure } = this
    this.failure = 'none'
    if (failure === 'before') throw new Error('the store is away')
    if (revision !== this.writes) return false
    this.writes++
    this.value = value
    if (failure === 'after') throw new Error('the response was lost')
    return true
  }

  clockOffsetMs() {
    return 0
  }
}
