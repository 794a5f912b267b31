/**
 * SQLite spool in the test's thread: a thread of its own takes longer to start than most tests run. Each call has a transaction of its own.
 * Tests in `tests/contract/sqlite` have the thread.
 */

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Calls } from '../../../tunnel/src/store/sqlite/calls.ts'
import { SpoolFile } from '../../../tunnel/src/store/sqlite/spool-file.ts'
import type { OpenSpoolFile } from '../../../tunnel/src/store/sqlite/sqlite-spool.ts'

export const openInThisThread: OpenSpoolFile = (options) => {
  const file = new SpoolFile(options)
  let isClosed = false
  return {
    opened: Promise.resolve(file),
    /** Copies arguments, results and errors, and transfers bytes, as messages between threads do. */
    async call<Name extends keyof Calls>(
      name: Name,
      ...args: Parameters<Calls[Name]>
    ): Promise<Awaited<ReturnType<Calls[Name]>>> {
      const transfer = args.flatMap((arg) => (arg instanceof Uint8Array ? (arg.buffer as ArrayBuffer) : []))
      const call = structuredClone({ number: 0, name, args }, { transfer })
      await nextTurn()
      if (isClosed) throw new Error('the spool is closed')
      const [result] = file.run([call])
      if (result?.error) throw structuredClone(result.error)
      return structuredClone(result?.value) as Awaited<ReturnType<Calls[Name]>>
    },
    async close() {
      await nextTurn() // calls of this turn run first
      isClosed = true
      file.close()
    },
  }
}
