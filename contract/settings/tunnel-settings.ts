/** Settings of the tunnel: filters, limits, storage and upstream. */

import { alertTargets, heartbeatUrl } from '../alerts.ts'
import { certificateFile } from '../certificates.ts'
import { section, setting } from './declarations.ts'
import * as is from './parsers.ts'

const KIB = 1024
const MIB = 1024 * KIB
const GIB = 1024 * MIB
const MILLION = 1_000_000
const MAX_SILENCE = 24 * 60
const MAX_DELIVERY_RATE = 10_000
const milliseconds = is.integer('number of milliseconds', 10, 600_000)
const rate = is.integer('number of envelopes a second', 0, MILLION)
const bytes = (min: number, max: number) => is.integer('number of bytes', min, max)

const FILTERS = 'Origins and filters'
const PRIVACY = 'Privacy'
const LIMITS = 'Limits'
const STORAGE = 'Spool and inbox'
const UPSTREAM = 'Connections to Sentry'
const ALERTS = 'Alerts'

export const TUNNEL = {
  ...section(FILTERS, ['nginx', 'tunnel'], {
    ALLOWED_HOSTS: setting(
      is.hosts,
      [],
      'Host names by which requests may reach nginx, or a tunnel without nginx, against [DNS rebinding](operations.md#dns-rebinding): `shop.example`, or `*.shop.example`. Addresses, names without a dot and names such as `*.localhost` are always allowed.',
      { defaultText: 'any; with `npm start -- --plain`: only those that are always allowed' },
    ),
  }),
  ...section(FILTERS, ['tunnel'], {
    ALLOWED_ORIGINS: setting(
      is.origins,
      [],
      'Other origins whose pages may post envelopes, like `https://shop.example`, separated by spaces or commas. `https://*.shop.example` allows all subdomains. Apps and extensions have origins like `capacitor://localhost`, `app://shop` and `chrome-extension://<ID>`. Pages from files have the origin `null`, seldom `file://`; `null` also allows every sandboxed frame.',
    ),
    DROP_NEXT_NOISE: setting(
      is.onOff,
      true,
      'Drops internal reports of Next.js: its not-found page, incomplete page loads, and its redirect and not-found signals.',
    ),
    FILTERS: setting(
      is.filters,
      is.DEFAULT_FILTERS,
      '[Filters](filters.md) of items, CSP reports and types of [browser reports](install.md#browser-reports). A word adds a filter; with a hyphen it removes one that is on: `web-crawlers -csp-blob`.',
    ),
    FILTER_ADDRESSES: setting(
      is.networks,
      [],
      'Client addresses and networks like `198.51.100.0/24` whose items are dropped, separated by spaces or commas.',
    ),
    FILTER_ERROR_MESSAGES: setting(
      is.lines,
      [],
      'Globs of error messages to drop, such as `*ChunkLoadError*`, separated by `|` or line breaks.',
    ),
    FILTER_RELEASES: setting(
      is.lines,
      [],
      'Globs of releases to drop, such as `shop@1.*`, separated by `|` or line breaks.',
    ),
  }),
  ...section(PRIVACY, ['tunnel'], {
    SCRUB: setting(
      is.scrub,
      is.NO_SCRUBBING,
      '[Removes personal data and secrets](privacy.md#scrubbing) from payloads before they are stored or forwarded. `strict` removes more. `observe` only counts what would be removed; `drop-attachments` removes items that scrubbing cannot read, such as replay recordings; `pseudonyms` keeps users distinguishable.',
    ),
    SCRUB_RULES: setting(
      is.text,
      undefined,
      'File with [rules of your own](privacy.md#rules-of-your-own) in addition to those of `SCRUB`. Compose mounts it; make it readable for all.',
      { isMounted: true },
    ),
  }),
  ...section(PRIVACY, ['nginx', 'tunnel'], {
    CLIENT_ADDRESS: setting(
      is.oneOf('forward', 'truncate', 'omit'),
      'forward',
      "Client address that Sentry, the spool, the inbox and nginx's access log get: all of it, its network (/24 of IPv4, /48 of IPv6), or none.",
    ),
  }),
  ...section(LIMITS, ['nginx', 'tunnel'], {
    ADDRESS_RATE: setting(
      rate,
      200,
      'Envelopes per second that each tunnel accepts from one client address. The limit in bytes is 100 kB times this rate. A burst may be as large as ten seconds of the rate. In IPv6, the limit applies to a /64; a /56 has twice the limit and a /48 four times. nginx allows four times this rate and 50 concurrent requests. 0: no limit.',
    ),
  }),
  ...section(LIMITS, ['tunnel'], {
    QUOTA: setting(
      is.text,
      undefined,
      '[Quotas](filters.md#quotas) of each project in a day or an hour (UTC), by data category: `error=50000/day,error=10000/hour`. `456:error=1000/day` is for project 456 alone. With `observe`, Culvert removes nothing, and counts the items that it would remove.',
    ),
    STORM_LIMIT: setting(
      is.stormLimit,
      is.DEFAULT_STORM_LIMIT,
      'Identical errors of one project in a minute, above which they are a [storm](filters.md#storms). `100 enforce` then lets 1 in 100 pass; without `enforce` all pass. 0: off.',
    ),
    MEMORY_BYTES: setting(
      bytes(MIB, 4 * GIB),
      64 * MIB,
      'Memory limit for all request bodies together. Bodies that are being written to the spool may use 8 MiB more.',
    ),
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
      'Disk space of the spool. On SQLite, 3/16 of it, at most 48 MiB, are for its log and a reserve. A full SQLite spool evicts less important entries, a full JetStream spool evicts none. New envelopes without room get 503.',
      { defaultText: 'the smaller of 5 GiB and half of the free disk; on NATS the size of the streams' },
    ),
    SPOOL_HOURS: setting(
      is.integer('number of hours', 1, 24 * 30),
      24,
      'Time until a spool entry expires. A client report tells Sentry that it was discarded.',
    ),
    SPOOL_RATE: setting(
      is.decimal('number of envelopes a second', 0.01, MAX_DELIVERY_RATE),
      MAX_DELIVERY_RATE,
      'Maximum number of envelopes per second that each replica delivers from the spool to one server. Set it for a [server with a quota by time](other-servers.md#quotas).',
    ),
    KEEP_HOURS: setting(
      is.integer('number of hours', 0, 24 * 30),
      undefined,
      'Time for which errors and feedback [stay](storage.md#kept-envelopes) after Sentry has accepted them, to be read in the inbox and sent again. Without `SENTRY_DSN`, all envelopes are kept, and the minimum is 1. Kept envelopes take additional space: a twentieth of `SPOOL_BYTES`, at least 256 MiB. The oldest are removed first.',
      { defaultText: '0; 168 without `SENTRY_DSN`' },
    ),
    BODY_DIR: setting(
      is.text,
      '.culvert/bodies',
      'Folder on a disk for bodies that are too large for memory.',
    ),
  }),
  ...section(UPSTREAM, ['tunnel'], {
    UPSTREAM_LATE_MS: setting(
      milliseconds,
      2000,
      'Time that an SDK waits for the response of Sentry. After that, the envelope is spooled and the SDK gets 200. If over half of the responses take longer, the circuit breaker opens. A delivery attempt ends after five times this, at least 10 s, and a second more for each MiB of the body.',
    ),
    UPSTREAM_ENCODING: setting(
      is.oneOf('off', 'gzip'),
      'off',
      'Compression of envelopes that arrive uncompressed, as browsers send them: [what it saves](benchmarks.md#compression-towards-sentry).',
    ),
    CSP_REPORTS: setting(
      is.oneOf('auto', 'envelope', 'endpoint'),
      'auto',
      'How [CSP reports](other-servers.md#csp-reports) are sent: in envelopes, or to the endpoint `/api/<project>/security/`. `auto` detects Bugsink. Set `endpoint` for GlitchTip.',
    ),
    HTTPS_PROXY: setting(
      is.proxy,
      undefined,
      'Proxy for `https` upstreams, like `http://proxy.example:3128`.',
      { isProxy: true },
    ),
    HTTP_PROXY: setting(is.proxy, undefined, 'Proxy for `http` upstreams.', { isProxy: true }),
    NO_PROXY: setting(is.text, undefined, 'Hosts that are reached without a proxy.', { isProxy: true }),
    LOG_LEVEL: setting(
      is.oneOf('debug', 'info', 'warn', 'error'),
      'info',
      'Lowest level that is logged. `PUT /log-level?level=` on the admin port changes it at run time.',
    ),
  }),
  ...section(UPSTREAM, ['tunnel', 'web'], {
    CA_FILE: setting(
      certificateFile,
      undefined,
      'File with additional certificate authorities in PEM, for a Sentry, NATS server or proxy of your own. Compose mounts it; make it readable for all.',
      { isMounted: true },
    ),
  }),
  ...section(ALERTS, ['tunnel'], {
    ALERT_URL: setting(
      alertTargets,
      [],
      'Destinations of [alerts](operations.md#alerts-without-prometheus), separated by spaces or commas: webhooks of Slack and Discord, `slack+https://…` and `discord+https://…` for compatible servers, other URLs for JSON, and `smtps://user:password@host/?from=…&to=…` for email. `smtp://` uses port 587 with STARTTLS, which is optional without a password.',
      { defaultText: 'none', hasFile: true },
    ),
    SILENCE_MINUTES: setting(
      is.integer('number of minutes', 0, MAX_SILENCE),
      0,
      'Time without a report of a browser after which the console and alerts warn, if pages have loaded `sdk.js` at least 20 times. 0: never.',
    ),
    HEARTBEAT_URL: setting(
      heartbeatUrl,
      undefined,
      'URL that one of the tunnels fetches every minute, except during an outage, for a service that alerts when that stops.',
      { defaultText: 'none', hasFile: true },
    ),
  }),
}
