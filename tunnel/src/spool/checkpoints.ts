/** Has the spool's log moved into its file, for as long as the spool is open. */

import { Worker } from 'node:worker_threads'

export type Checkpoints = { stop(): Promise<void> }

const BEGIN_MS = 1_000 // a log that begins anew is not long by then, and the tunnel is ready sooner

/** `onNotice` is told when it is done no more. */
export function startCheckpoints(file: string, onNotice: (notice: string) => void): Checkpoints {
  let worker: Worker | undefined
  const timer = setTimeout(begin, BEGIN_MS).unref()
  return { stop }

  function begin(): void {
    worker = new Worker(new URL('./checkpoint-worker.ts', import.meta.url), { workerData: { file } })
    worker.unref()
    worker.on('error', ({ message }) =>
      onNotice(`the spool's log is not moved into its file any more: ${message}; restart this replica`),
    )
  }

  async function stop(): Promise<void> {
    clearTimeout(timer)
    worker?.removeAllListeners('error').on('error', () => undefined) // it may not even have begun
    await worker?.terminate()
  }
}
