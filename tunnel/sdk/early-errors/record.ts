/** Recorder of the errors that a page has before its SDK starts. */

/** Uncaught error or unhandled rejection, and its time in ms since 1970. */
export type EarlyError = { time: number } & (
  | { error: Pick<ErrorEvent, 'message' | 'filename' | 'lineno' | 'colno' | 'error'> }
  | { rejection: Pick<PromiseRejectionEvent, 'reason'> }
)

/** Calls `add` with every error from now on, whose stacks get as many frames as with the SDK. Returns a function that ends that. */
export function recordErrors(add: (item: EarlyError) => void): () => void {
  Error.stackTraceLimit = 50
  const onError = ({ message, filename, lineno, colno, error }: ErrorEvent) =>
    add({ time: Date.now(), error: { message, filename, lineno, colno, error } })
  const onRejection = (event: PromiseRejectionEvent & { detail?: { reason?: unknown } }) =>
    add({ time: Date.now(), rejection: { reason: event.reason ?? event.detail?.reason } }) // Bluebird has `detail`
  addEventListener('error', onError)
  addEventListener('unhandledrejection', onRejection)
  return () => {
    removeEventListener('error', onError)
    removeEventListener('unhandledrejection', onRejection)
  }
}
