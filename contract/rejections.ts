/** Rejection codes, with the status, a sentence and the remedy of each. */

type RejectionDefinition = {
  status: 400 | 403 | 404 | 405 | 408 | 410 | 413 | 415 | 429 | 502 | 503 | 504
  sentence: string
  fix: string
}

/** Closed set of codes; `docs/api.md` lists them. nginx sends some of them itself. */
export const REJECTIONS = {
  'empty-body': {
    status: 400,
    sentence: 'The request has no body.',
    fix: 'Post a Sentry envelope.',
  },
  'not-an-envelope': {
    status: 400,
    sentence:
      'The body is not a Sentry envelope: its first line must be a JSON object in UTF-8 without duplicate keys.',
    fix: 'Send the envelope of a Sentry SDK unmodified; check for a proxy that rewrites bodies.',
  },
  'items-missing': {
    status: 400,
    sentence: 'The body is one JSON object without items, such as an event for the old endpoint /store/.',
    fix: 'Update the SDK to a version that posts envelopes, or send what goes to /store/ to Sentry itself.',
  },
  'header-invalid': {
    status: 400,
    sentence: 'The envelope header has a value that Sentry would reject.',
    fix: 'Send event_id as a UUID, sent_at as an RFC 3339 time and dsn as a string, or omit them.',
  },
  'item-header-invalid': {
    status: 400,
    sentence: 'An item header is not a JSON object with a type and an optional integer length.',
    fix: 'Send the envelope of a Sentry SDK unmodified. A payload that contains newlines needs its length in the header.',
  },
  'item-malformed': {
    status: 400,
    sentence: 'An item does not end where its header says.',
    fix: 'Send the body as bytes. A proxy that decodes it to text breaks replays and attachments.',
  },
  'item-internal': {
    status: 400,
    sentence: 'An item has a type that only Relay may send.',
    fix: 'Remove items of type integration.',
  },
  'header-too-large': {
    status: 413,
    sentence: 'A header line of the envelope is too long.',
    fix: 'Put the data into the payload; headers usually have a few hundred bytes.',
  },
  'headers-too-large': {
    status: 413,
    sentence: 'The header lines of the envelope are too long in total.',
    fix: 'Split the envelope, or put the data into the payloads.',
  },
  'header-too-complex': {
    status: 413,
    sentence: 'A header line of the envelope has too many keys, or is nested too deeply.',
    fix: 'Put the data into the payload; a header needs only a few keys.',
  },
  'too-many-items': {
    status: 413,
    sentence: 'The envelope has too many items.',
    fix: 'Split it into several envelopes.',
  },
  'item-too-large': {
    status: 413,
    sentence: 'An item is larger than Sentry accepts.',
    fix: 'Send a smaller item. If your own server accepts it, raise MAX_ENVELOPE_BYTES above its default.',
  },
  'item-too-many': {
    status: 413,
    sentence: 'The envelope has more items of one type than Sentry accepts.',
    fix: 'Send them in several envelopes.',
  },
  'envelope-too-large': {
    status: 413,
    sentence: 'The envelope is too large.',
    fix: 'Send a smaller envelope, or raise MAX_ENVELOPE_BYTES.',
  },
  'encoding-unknown': {
    status: 415,
    sentence: 'Sentry does not support the Content-Encoding of the body.',
    fix: 'Use gzip, deflate, br, zstd or no Content-Encoding; none for browser reports.',
  },
  'encoding-broken': {
    status: 400,
    sentence: 'The body cannot be decompressed as its Content-Encoding says.',
    fix: 'Compress the whole body once, or send it without Content-Encoding.',
  },
  'body-timeout': {
    status: 408,
    sentence: 'The body did not arrive in time.',
    fix: 'Send it again over a faster connection.',
  },
  'dsn-missing': {
    status: 400,
    sentence: 'The envelope has no DSN, and the query does not identify exactly one project.',
    fix: 'Set the tunnel option of the SDK. The SDK then adds the DSN to each envelope. If SENTRY_DSN has only one DSN of the project, p=PROJECT_ID in the query is also enough.',
  },
  'dsn-invalid': {
    status: 400,
    sentence: 'The DSN in the envelope is not valid.',
    fix: 'Copy the DSN from the project settings in Sentry.',
  },
  'dsn-unknown': {
    status: 403,
    sentence: 'This tunnel does not accept the DSN in the envelope.',
    fix: 'Add it to SENTRY_DSN, or use a DSN from there in the SDK. Host, project and key must be equal.',
  },
  'query-malformed': {
    status: 400,
    sentence: 'The query parameters p, o or r are not valid.',
    fix: 'Send p and o once each as digits and r as letters, without escapes, or omit the query.',
  },
  'query-mismatch': {
    status: 400,
    sentence: 'The query and the DSN in the envelope name different projects.',
    fix: 'Send each envelope with the identifiers of its own DSN, or without a query.',
  },
  'report-content-type': {
    status: 415,
    sentence: 'The Content-Type is not one that browsers use for reports.',
    fix: 'Send application/csp-report, application/reports+json or application/json.',
  },
  'report-malformed': {
    status: 400,
    sentence: 'The body, or a report in it, is not a browser report.',
    fix: 'Send the JSON of a browser: an object with the member csp-report, or a list of objects with type, url and body.',
  },
  'report-too-large': {
    status: 413,
    sentence: 'A browser report, or a post of reports, is too large.',
    fix: 'Browsers send a few kilobytes for each report, and at most 40 characters of code. Send smaller reports.',
  },
  'reports-too-many': {
    status: 413,
    sentence: 'The batch has too many browser reports.',
    fix: 'Send at most 100 reports at once, as browsers do.',
  },
  'report-foreign': {
    status: 403,
    sentence: 'A browser report is about a page of another origin.',
    fix: "Add the page's origin to ALLOWED_ORIGINS if it may report here.",
  },
  'report-origin-missing': {
    status: 403,
    sentence: 'Neither a browser report nor its request names an origin.',
    fix: 'Ignore this report. It is about a document without an address, such as about:srcdoc, or it did not come from a browser.',
  },
  'report-project-unknown': {
    status: 410, // browsers then forget the endpoint (w3.org/TR/reporting-1)
    sentence: 'The query of browser reports names no project of this tunnel.',
    fix: 'Write ?p= and the project ID of a DSN in SENTRY_DSN into the headers, or omit the query to use the first one.',
  },
  'origin-foreign': {
    status: 403,
    sentence: 'The request comes from a page of another origin.',
    fix: "Add the page's origin to ALLOWED_ORIGINS if it may report here.",
  },
  'rate-limited': {
    status: 429,
    sentence: 'A rate limit of Sentry or a quota of this tunnel was reached.',
    fix: 'Wait for the time in X-Sentry-Rate-Limits. Categories that it does not name may be sent now. QUOTA sets the quotas.',
  },
  throttled: {
    status: 429,
    sentence: 'The client address of this request exceeded the rate limit of this tunnel.',
    fix: 'Send it again later. ADDRESS_RATE sets the limit. If many visitors share one address, set TRUSTED_PROXIES.',
  },
  'request-malformed': {
    status: 400,
    sentence: 'The request line or a header is too long or is not valid HTTP.',
    fix: 'Send a short query and no cookies to the tunnel.',
  },
  'host-unknown': {
    status: 403,
    sentence: 'The request names a host that this site does not have.',
    fix: 'Add the host name to ALLOWED_HOSTS if it is yours.',
  },
  'path-unknown': {
    status: 404,
    sentence: 'There is no tunnel at this path.',
    fix: 'Post to one of the paths in TUNNEL_PATHS.',
  },
  'method-unknown': {
    status: 405,
    sentence: 'This path does not accept the method of the request.',
    fix: 'Use a method that the Allow header of the response lists: POST for envelopes, GET for the SDK.',
  },
  'project-unknown': {
    status: 404,
    sentence: 'The query of sdk.js names no project of this tunnel.',
    fix: 'Write ?p= and the project ID of a DSN in SENTRY_DSN, or omit the query to use the first one.',
  },
  'sdk-file-unknown': {
    status: 404,
    sentence: 'The SDK of this tunnel has no file of this name.',
    fix: 'Load sdk.js, which names the files of this release.',
  },
  'sdk-missing': {
    status: 503,
    sentence: 'This tunnel has no SDK to serve, because it was not built or its files are damaged.',
    fix: 'Run npm run build:sdk, or build the image from Dockerfile.tunnel, and restart the tunnel.',
  },
  'sdk-store-away': {
    status: 503,
    sentence: 'The bundles of other releases of the SDK cannot be read.',
    fix: 'Check the disk of the spool, or the NATS server that SPOOL_URL names. The log has the error.',
  },
  'spool-full': {
    status: 503,
    sentence: 'Sentry could not be reached, and the spool is full.',
    fix: 'Raise SPOOL_BYTES, and free space on the disk or the NATS server of the spool. /status lists the pending entries.',
  },
  'spool-share': {
    status: 503,
    sentence:
      'Sentry could not be reached, and this client address or project has used its share of the spool.',
    fix: 'Raise SPOOL_BYTES, of which each gets a share. If one address or project sends far more than the others, find out why. /status lists the pending entries.',
  },
  'spool-unwritable': {
    status: 503,
    sentence: 'Sentry could not be reached, and the spool could not be written.',
    fix: 'Check the disk or the NATS server that SPOOL_URL names. /status shows the error.',
  },
  'tunnel-failed': {
    status: 503,
    sentence: 'The tunnel failed to process this envelope.',
    fix: 'Search the log of the tunnel for the request id, and report the error with it.',
  },
  'tunnel-busy': {
    status: 503,
    sentence: 'The tunnel has no free memory for this body.',
    fix: 'Send it again later. Operators: raise MEMORY_BYTES and the memory limit of the container, or add a replica.',
  },
  'tunnel-away': {
    status: 502,
    sentence: 'No tunnel could be reached.',
    fix: 'Check that the tunnel runs: docker compose ps.',
  },
  'tunnel-slow': {
    status: 504,
    sentence: 'The tunnel did not answer in time.',
    fix: 'Search the log of the tunnel for the request id.',
  },
} as const satisfies Record<string, RejectionDefinition>

export type RejectionCode = keyof typeof REJECTIONS

/** Codes with status 503. */
export const UNAVAILABLE: ReadonlySet<string> = new Set(
  Object.entries(REJECTIONS).flatMap(([code, { status }]) => (status === 503 ? [code] : [])),
)

/** Rejection of an envelope. Any stage may throw it; `http/outcome.ts` builds the response. */
export class Rejection extends Error {
  readonly code: RejectionCode
  /** Details about this envelope, without any payload. */
  readonly causes: string[]

  constructor(code: RejectionCode, ...causes: string[]) {
    super(code)
    this.name = 'Rejection'
    this.code = code
    this.causes = causes
  }

  get status(): RejectionDefinition['status'] {
    return REJECTIONS[this.code].status
  }
}

/** Builds the body of a rejection: Relay's `ApiErrorResponse` with our code, the request ID, and `more`. */
export function rejectionBody(
  { code, causes }: Rejection,
  requestId: string,
  more?: { reported: boolean },
): string {
  const { sentence, fix } = REJECTIONS[code]
  return JSON.stringify({ detail: `${sentence} ${fix}`, code, causes, request_id: requestId, ...more })
}
