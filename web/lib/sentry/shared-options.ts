/** Options of both SDKs, browser and server. */

/** Data that no report contains. Version 11 collects all of it by default. */
export const DATA_COLLECTION = { userInfo: false, cookies: false, httpHeaders: false, httpBodies: [] }

/** Drops logs and metrics unless they are switched on. Version 11 sends them by default. */
export function signalOptions({ logs, metrics }: { logs: boolean; metrics: boolean }) {
  return {
    ...(!logs && { beforeSendLog: () => null }),
    ...(!metrics && { beforeSendMetric: () => null }),
  }
}
