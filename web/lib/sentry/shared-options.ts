/** What holds for the reports of both sides, browser and server. */

/** What no report of ours says; v11 collects all of it unless told not to. */
export const DATA_COLLECTION = { userInfo: false, cookies: false, httpHeaders: false, httpBodies: [] }

/** v11 sends every log and metric that the code asks for, unless each is turned down. */
export function signalOptions({ logs, metrics }: { logs: boolean; metrics: boolean }) {
  return {
    ...(!logs && { beforeSendLog: () => null }),
    ...(!metrics && { beforeSendMetric: () => null }),
  }
}
