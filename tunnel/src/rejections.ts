/** Rejection codes, with the status, a sentence and the remedy of each. */

export type RejectionDefinition = {
  status: 400 | 403 | 404 | 405 | 408 | 413 | 415 | 429 | 502 | 503 | 504
  sentence: string
  fix: string
}

/** Closed set of codes; `docs/rejections.md` lists them. nginx sends some of them itself. */
export const REJECTIONS = {
  'empty-body': {
    status: 400,
    sentence: 'The request has no body.',
    fix: 'Post a Sentry envelope.',
  },
  'not-an-envelope': {
    status: 400,
    sentence:
      'The body is not a Sentry envelope: its first line is no JSON object in UTF-8 with each key once.',
    fix: 'Let a Sentry SDK write the envelope, and nothing on the way change it.',
  },
  'header-invalid': {
    status: 400,
    sentence: 'The header of the envelope holds a value that Sentry would refuse.',
    fix: 'Write event_id as a UUID, sent_at as an RFC 3339 time and dsn as a string, or leave them out.',
  },
  'item-header-invalid': {
    status: 400,
    sentence:
      'The header of an item is not one JSON object with a type, and a length that is a whole number if there is one.',
    fix: 'Let a Sentry SDK write the envelope; a payload with newlines in it needs its length in the header.',
  },
  'item-malformed': {
    status: 400,
    sentence: 'An item does not end where it should.',
    fix: 'Send the body as bytes: decoding it to text on the way breaks replays and attachments.',
  },
  'item-internal': {
    status: 400,
    sentence: 'An item has a type that only Relay may send.',
    fix: 'Leave out items of type integration.',
  },
  'header-too-large': {
    status: 413,
    sentence: 'A header line of the envelope is too long.',
    fix: 'Headers hold a few hundred bytes; put data into the payload.',
  },
  'headers-too-large': {
    status: 413,
    sentence: 'The header lines of the envelope are too long together.',
    fix: 'Split the envelope, or put data into the payloads; TOTAL_HEADER_BYTES sets the limit.',
  },
  'header-too-complex': {
    status: 413,
    sentence: 'A header line of the envelope has too many keys, or is nested too deeply.',
    fix: 'Put data into the payload; a header needs a few keys.',
  },
  'too-many-items': {
    status: 413,
    sentence: 'The envelope has too many items.',
    fix: 'Split it into several envelopes.',
  },
  'item-too-large': {
    status: 413,
    sentence: 'An item is larger than Sentry takes.',
    fix: 'Send less in it; Relay has a limit for each item type.',
  },
  'item-too-many': {
    status: 413,
    sentence: 'The envelope has more items of one kind than Sentry takes.',
    fix: 'Send them in envelopes of their own.',
  },
  'envelope-too-large': {
    status: 413,
    sentence: 'The envelope is too large.',
    fix: 'Send less at once, or raise MAX_ENVELOPE_BYTES.',
  },
  'encoding-unknown': {
    status: 415,
    sentence: 'The body is compressed in a way that Sentry does not take.',
    fix: 'Use gzip, deflate, br, zstd or no Content-Encoding.',
  },
  'encoding-broken': {
    status: 400,
    sentence: 'The body is not what its Content-Encoding says.',
    fix: 'Compress the whole body once, or send it without Content-Encoding.',
  },
  'body-timeout': {
    status: 408,
    sentence: 'The body did not arrive in time.',
    fix: 'Send it again over a better connection.',
  },
  'dsn-missing': {
    status: 400,
    sentence: 'The envelope names no DSN, and its query does not name exactly one project.',
    fix: 'Set the tunnel option of the SDK, which then writes the DSN, or add ?p= with the project.',
  },
  'dsn-invalid': {
    status: 400,
    sentence: 'The DSN in the envelope cannot be read.',
    fix: 'Give the SDK the DSN as Sentry shows it.',
  },
  'dsn-unknown': {
    status: 403,
    sentence: 'The DSN in the envelope is none that this tunnel carries for.',
    fix: 'Add it to SENTRY_DSN, or give the SDK one that is there; host, project and key must all agree.',
  },
  'query-malformed': {
    status: 400,
    sentence: 'The query does not name the project plainly.',
    fix: 'Write p and o once each in plain digits and r in letters, without escapes, or leave the query out.',
  },
  'query-mismatch': {
    status: 400,
    sentence: 'The query and the DSN in the envelope name different projects.',
    fix: 'Post each envelope with the identifiers of its own DSN, or without a query.',
  },
  'origin-foreign': {
    status: 403,
    sentence: 'The page that sent this is of another origin than this site.',
    fix: "Add the page's origin to ALLOWED_ORIGINS if it may report here.",
  },
  'rate-limited': {
    status: 429,
    sentence: 'Too much is sent at once, or Sentry has asked to hold this back.',
    fix: 'Wait as X-Sentry-Rate-Limits says; what it does not name may be sent. ADDRESS_RATE and its like set our own limits.',
  },
  'request-malformed': {
    status: 400,
    sentence: 'The request line or a header is too long, or is no HTTP.',
    fix: 'Leave out what is not needed: a tunnel wants a short query and no cookies.',
  },
  'path-unknown': {
    status: 404,
    sentence: 'There is no tunnel at this path.',
    fix: 'Post to one of the paths in TUNNEL_PATHS.',
  },
  'method-unknown': {
    status: 405,
    sentence: 'Envelopes are posted.',
    fix: 'Use POST.',
  },
  'spool-full': {
    status: 503,
    sentence: 'Sentry could not be reached, and there is no room to keep the envelope until it can.',
    fix: 'Raise SPOOL_BYTES, and make room on the disk or the NATS server that holds the spool; see /status for what waits.',
  },
  'spool-unwritable': {
    status: 503,
    sentence: 'Sentry could not be reached, and the spool does not take the envelope.',
    fix: 'Look at the disk that holds the file of SPOOL_URL, or at the NATS server it names; /status says what was wrong.',
  },
  'inbox-full': {
    status: 503,
    sentence: 'The inbox could not keep the envelope.',
    fix: 'Make room on the disk that holds INBOX_FILE; one address may fill a twentieth of the inbox.',
  },
  'tunnel-failed': {
    status: 503,
    sentence: 'The tunnel failed on this envelope.',
    fix: 'Report it with the request id; the log line with that id says more.',
  },
  'tunnel-busy': {
    status: 503,
    sentence: 'The tunnel has no memory left for this body.',
    fix: 'Send it again later; raise MEMORY_BYTES with the memory limit of the container, or add a replica.',
  },
  'tunnel-away': {
    status: 502,
    sentence: 'No tunnel could be reached.',
    fix: 'Look whether the tunnel runs: docker compose ps.',
  },
  'tunnel-slow': {
    status: 504,
    sentence: 'The tunnel did not answer in time.',
    fix: "Look at the tunnel's log with the request id.",
  },
} as const satisfies Record<string, RejectionDefinition>

export type RejectionCode = keyof typeof REJECTIONS

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

/** Builds the body of a rejection: Relay's `ApiErrorResponse` with our code and the request ID. */
export function rejectionBody({ code, causes }: Rejection, requestId: string): string {
  const { sentence, fix } = REJECTIONS[code]
  return JSON.stringify({ detail: `${sentence} ${fix}`, code, causes, request_id: requestId })
}
