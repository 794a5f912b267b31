/** Options of both SDKs, browser and server. */

/** Data that no report contains. Version 11 collects all of it by default. */
export const DATA_COLLECTION = { userInfo: false, cookies: false, httpHeaders: false, httpBodies: [] }

/** Drops logs and metrics. Version 11 sends them by default. */
export const NO_LOGS_AND_METRICS = { beforeSendLog: () => null, beforeSendMetric: () => null }
