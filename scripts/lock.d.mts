/** Types of `lock.mjs`, which is plain JavaScript so that any Node can run it before the packages are there. */

export function withLock<T>(file: string, work: () => Promise<T>, onWait: (pid: number) => void): Promise<T>
