/** Types of browser reports that are accepted, and the report as it was read. */

/**
 * Types of the Reporting API. `csp-violation` is also the type of reports of `report-uri`. Reports of other types, which a browser may
 * add, are filtered.
 */
export const REPORT_TYPES = [
  'csp-violation',
  'network-error',
  'crash',
  'integrity-violation',
  'permissions-policy-violation',
  'coop',
  'coep',
  'deprecation',
  'intervention',
] as const

export type ReportType = (typeof REPORT_TYPES)[number]

/** Scalar members of the body of a report. Browsers send no others that Sentry shows. */
export type ReportBody = Readonly<Record<string, string | number | boolean>>

/** One report of a browser, from either format. */
export type BrowserReport = {
  /** A name of up to 64 characters; not always one of `REPORT_TYPES`. */
  type: string
  /** URL of the document, and of the request for a network error. */
  url: string
  /** Milliseconds between the observation and the post; 0 for `report-uri`. */
  ageMs: number
  body: ReportBody
  /** Bytes of its JSON. */
  bytes: number
}

export type ReportSettings = {
  /** Types that are forwarded; reports of others are filtered. */
  types: ReadonlySet<ReportType>
  /** Release and environment of the reported pages. */
  release: string | undefined
  environment: string
}
