/** Types of `progress.mjs`, which is plain JavaScript so that any Node can run it before the packages are there. */

export class StepFailed extends Error {
  constructor(message: string, output: string)
  /** The last lines that the command said. */
  output: string
}

export type StepOptions = {
  cwd?: string
  env?: Readonly<Record<string, string | undefined>>
  signal?: AbortSignal
}

export function runStep(title: string, command: string[], options?: StepOptions): Promise<void>
export function showProgress(title: string): {
  at(text: string): void
  end(result: 'done' | 'failed' | 'stopped'): void
}
export function keepTail(): { add(piece: Buffer | string): void; text(): string }
