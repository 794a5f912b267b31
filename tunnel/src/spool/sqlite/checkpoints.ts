/** Has the spool's log moved into its file, for as long as the spool is open. */

import { Worker } from 'node:worker_threads'

export type Checkpoints = { stop(): Promise<void> }

const BEGIN_MS = 1_000 // the tunnel is ready sooner, and a log waits that much longer; Dockerfile.tunnel waits for it

/** `onNotice` is told when it is done no more. */
export function startCheckpoints(file: string, onNotice: (notice: string) => void): Checkpoints {
  let worker: Worker | undefined
  const timer = setTimeout(begin, BEGIN_MS).unref()
  return { stop }

  function begin(): void {
    try {
      worker = new Worker(new URL('./checkpoint-worker.ts', import.meta.url), { workerData: { file } })
      worker.unref()
      worker.on('error', tell)
    } catch (error) {
      tell(error)
    }
  }

  function tell(error: unknown): void {
    const why = error instanceof Error ? error.message : String(error)
    onNotice(`the spool's log is not moved into its file any more: ${why}; restart this replica`)
  }

  async function stop(): Promise<void> {
    clearTimeout(timer)
    worker?.removeAllListeners('error').on('error', () => undefined) // it may not even have begun
    await worker?.terminate()
  }
}
