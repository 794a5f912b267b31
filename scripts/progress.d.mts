/** Types of `progress.mjs`, which is plain JavaScript so that older versions of Node can run it before the packages are installed. */

export class StepFailed extends Error {
  constructor(message: string, output: string)
  /** The last lines that the command wrote. */
  output: string
}

export type StepOptions = {
  cwd?: string
  env?: Readonly<Record<string, string | undefined>>
  signal?: AbortSignal
}

export function runStep(title: string, command: string[], options?: StepOptions): Promise<void>
export function showProgress(title: string): {
  setDetail(text: string): void
  end(result: 'done' | 'failed' | 'stopped'): void
}
export function keepTail(): { add(piece: Buffer | string): void; text(): string }
export function withLock<T>(file: string, work: () => Promise<T>, onWait: (pid: number) => void): Promise<T>
