/** Errors posted continuously during a test. */

import { INBOX_DSN } from '../../contract/dsn.ts'
import { errorOf } from './envelopes.ts'
import { post } from './post.ts'

const SENDERS = 8

export type Load = ReturnType<typeof startLoad>

/** Posts to `url` (scheme, host, port), eight at a time, until it is stopped. */
export function startLoad(url: string) {
  const body = errorOf(INBOX_DSN)
  const failures: string[] = []
  const waiting: { count: number; resolve: () => void }[] = []
  let answered = 0
  let going = true

  async function send(): Promise<void> {
    while (going) {
      const failure = await post(url, { body }).then(
        ({ status, text }) => (status === 200 ? undefined : `${status} ${text}`),
        (error) => String(error),
      )
      if (failure !== undefined) failures.push(failure)
      answered++
      for (const { count, resolve } of waiting) if (answered >= count) resolve()
    }
  }

  const senders = Array.from({ length: SENDERS }, send)
  return {
    /** Resolves when `count` more have a response. */
    more: (count: number) =>
      new Promise<void>((resolve) => void waiting.push({ count: answered + count, resolve })),
    /** Returns every response other than 200 with its body, and every broken request. */
    async end(): Promise<string[]> {
      going = false
      await Promise.all(senders)
      return failures
    },
  }
}
