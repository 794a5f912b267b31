/** Starts and stops the thread that moves the write-ahead log into the spool's file. */

import { Worker } from 'node:worker_threads'
import type { CheckpointData } from './checkpoint-worker.ts'

const START_MS = 1_000 // the tunnel is ready sooner without it; Dockerfile.tunnel waits for it

export class Checkpoints {
  readonly #timer: NodeJS.Timeout
  #worker: Worker | undefined

  /** `walBytes` is the length of the log that writers accept. `onNotice` receives a message for the operator when the thread fails. */
  constructor(file: string, walBytes: number, onNotice: (notice: string) => void) {
    const onError = (error: unknown) => {
      const problem = error instanceof Error ? error.message : String(error)
      onNotice(`the spool's log is not moved into its file any more: ${problem}; restart this replica`)
    }
    this.#timer = setTimeout(() => this.#start({ file, walBytes }, onError), START_MS).unref()
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer)
    this.#worker?.removeAllListeners('error').on('error', () => undefined) // it may not have started yet
    await this.#worker?.terminate()
  }

  #start(workerData: CheckpointData, onError: (error: unknown) => void): void {
    try {
      this.#worker = new Worker(new URL('./checkpoint-worker.ts', import.meta.url), { workerData })
      this.#worker.unref()
      this.#worker.on('error', onError)
    } catch (error) {
      onError(error)
    }
  }
}
