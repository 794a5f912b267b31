/** Settings of the tunnel: filters, limits, storage and upstream. */

import * as is from '../parsers.ts'
import { section, setting } from './declarations.ts'

const KIB = 1024
const MIB = 1024 * KIB
const GIB = 1024 * MIB
const MILLION = 1_000_000
const milliseconds = is.integer('number of milliseconds', 10, 600_000)
const rate = is.integer('number of envelopes a second', 0, MILLION)
const burst = is.integer('number of envelopes', 1, MILLION)
const bytes = (min: number, max: number) => is.integer('number of bytes', min, max)

const FILTERS = 'Origins and filters'
const LIMITS = 'Limits'
const STORAGE = 'Spool and inbox'
const UPSTREAM = 'Connections to Sentry'

export const TUNNEL = {
  ...section(FILTERS, ['tunnel'], {
    ALLOWED_ORIGINS: setting(
      is.origins,
      [],
      'Other origins whose pages may post envelopes, like `https://shop.example`, separated by spaces or commas.',
    ),
    DROP_NEXT_NOISE: setting(
      is.onOff,
      true,
      "Drops Next.js's not-found and incomplete transactions and its redirect signals.",
    ),
    FILTERS: setting(
      is.someOf('browser-extensions', 'web-crawlers', 'localhost', 'health-checks'),
      [],
      "Sentry's inbound filters that the tunnel applies, separated by spaces or commas.",
    ),
    FILTER_ERROR_MESSAGES: setting(
      is.lines,
      [],
      'Globs of error messages to drop, separated by `|` or newlines.',
    ),
    FILTER_RELEASES: setting(is.lines, [], 'Globs of releases to drop, separated by `|` or newlines.'),
  }),
  ...section(LIMITS, ['nginx', 'tunnel'], {
    ADDRESS_RATE: setting(
      rate,
      200,
      'Envelopes that a tunnel accepts from one client address (IPv6: one /64). nginx accepts four times as many, and 20 concurrent requests. 0: no limit.',
    ),
    ADDRESS_BURST: setting(
      burst,
      2000,
      'Envelopes from one client address that may exceed the rate at once.',
    ),
  }),
  ...section(LIMITS, ['tunnel'], {
    ADDRESS_BYTES: setting(
      is.integer('number of bytes a second', 0, 1000 * MILLION),
      20 * MILLION,
      'Bytes that a tunnel accepts from one client address. 0: no limit.',
    ),
    PROJECT_RATE: setting(rate, 0, 'Envelopes that a tunnel accepts for one project. 0: no limit.'),
    PROJECT_BURST: setting(burst, 10_000, 'Envelopes for one project that may exceed the rate at once.'),
    HEADER_BYTES: setting(bytes(KIB, MIB), 64 * KIB, 'Size of the longest header line of an envelope.'),
    TOTAL_HEADER_BYTES: setting(
      bytes(KIB, 64 * MIB),
      MIB,
      'Size of all header lines of an envelope together.',
    ),
    MAX_ITEMS: setting(is.integer('number of items', 1, 100_000), 1000, 'Items of one envelope.'),
    MEMORY_BYTES: setting(
      bytes(MIB, 4 * GIB),
      64 * MIB,
      'Memory for request bodies, all together. Bodies on their way to the spool may hold 8 MiB more.',
    ),
    BODY_TIMEOUT_MS: setting(milliseconds, 60_000, 'Time until the whole body has to arrive.'),
  }),
  ...section(STORAGE, ['tunnel'], {
    SPOOL_URL: setting(
      is.spoolPlace,
      { file: '.culvert/spool.db' },
      'Spool: a SQLite file like `file:///spool/spool.db`, which replicas on one machine share, or NATS JetStream like `nats://nats:4222`, for several machines.',
      { hasFile: true },
    ),
    SPOOL_BYTES: setting(
      bytes(MIB, MIB * MIB),
      undefined,
      "Disk space for spool entries, headers included. SQLite's log adds 64 MiB as a rule, and up to 300 MB under heavy load. When the spool is full, less important entries are discarded; if none are left, the answer is 503.",
      { defaultText: '5 GiB or half of the free disk; on NATS the size of the stream' },
    ),
    SPOOL_HOURS: setting(
      is.integer('number of hours', 1, 24 * 30),
      24,
      'Time until a spool entry expires. Sentry is told in a client report.',
    ),
    INBOX: setting(is.onOff, true, 'Keeps envelopes in the inbox, in addition to forwarding them.', {
      defaultText: '`on` without `SENTRY_DSN`',
    }),
    INBOX_FILE: setting(
      is.text,
      '.culvert/inbox.db',
      'SQLite file of the inbox. It holds the newest 10,000 envelopes, up to 256 MiB, for 7 days; one client address may use a twentieth of that.',
    ),
    BODY_DIR: setting(
      is.text,
      '.culvert/bodies',
      'Folder on a disk for bodies that are too large for memory.',
    ),
  }),
  ...section(UPSTREAM, ['tunnel'], {
    UPSTREAM_CONNECT_MS: setting(milliseconds, 1000, 'Time to connect to Sentry.'),
    UPSTREAM_ANSWER_MS: setting(milliseconds, 10_000, "Time until Sentry's response has to arrive."),
    UPSTREAM_LATE_MS: setting(
      milliseconds,
      2000,
      'A later response counts as slow. When over half of the responses are slow, the circuit breaker opens.',
    ),
    UPSTREAM_CONNECTIONS: setting(
      is.integer('number of connections', 1, 1000),
      64,
      'Connections to one upstream.',
    ),
    HTTPS_PROXY: setting(
      is.proxy,
      undefined,
      'Proxy for `https` upstreams, like `http://proxy.example:3128`.',
      {
        isProxy: true,
      },
    ),
    HTTP_PROXY: setting(is.proxy, undefined, 'Proxy for `http` upstreams.', { isProxy: true }),
    NO_PROXY: setting(is.text, undefined, 'Hosts that are reached without a proxy.', { isProxy: true }),
    NODE_EXTRA_CA_CERTS: setting(
      is.text,
      undefined,
      'File with additional certificate authorities, read by Node.js. A container needs the file mounted.',
    ),
    LOG_LEVEL: setting(
      is.oneOf('debug', 'info', 'warn', 'error'),
      'info',
      'Lowest level that is logged. `PUT /log-level?level=` on the admin port changes it at run time.',
    ),
  }),
}
