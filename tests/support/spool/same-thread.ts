/**
 * SQLite spool in the test's thread: a thread of its own takes longer to start than most tests run. Each call has a transaction of its own.
 * Tests in `tests/contract/sqlite` have the thread.
 */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { SpoolFile } from '../../../tunnel/src/store/sqlite/spool-file.ts'
import type { OpenSpoolFile } from '../../../tunnel/src/store/sqlite/sqlite-spool.ts'

export const openInThisThread: OpenSpoolFile = (options) => {
  const file = new SpoolFile(options)
  let isClosed = false
  return {
    opened: Promise.resolve(file),
    /** Copies arguments, results and errors, and transfers bytes, as messages between threads do. */
    call: async (subject, name, ...args) => {
      const given: unknown[] = args
      const transfer = given.flatMap((arg) => (arg instanceof Uint8Array ? (arg.buffer as ArrayBuffer) : []))
      const call = structuredClone({ number: 0, subject, name, args }, { transfer })
      await nextTurn()
      if (isClosed) throw new Error('the spool is closed')
      const [result] = file.run([call])
      if (result?.error) throw structuredClone(result.error)
      return structuredClone(result?.value) as never
    },
    async close() {
      await nextTurn() // calls of this turn run first
      isClosed = true
      file.close()
    },
  }
}
