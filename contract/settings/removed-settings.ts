/** Names of former settings, each with its replacement. */

const IMAGES = 'Name the image in docker-compose.override.yml.'
const LARGER_ITEMS = 'Set MAX_ENVELOPE_BYTES above its default: items may then be as large as an envelope.'
const NEW_NGINX = 'It is on where TUNNELS or WEB are host names.'
const TLS = 'Set TLS_FOLDER to a folder with fullchain.pem and privkey.pem.'
const OWN_SIGNALS = "Of Culvert's own pages, only the error lab sends logs and metrics."
const PROJECT = 'Bound a project by QUOTA, such as 456:error=1000/hour.'
const SOURCE_MAPS = "Source maps of Culvert's own pages are no longer uploaded."

export const REMOVED: { readonly [name: string]: string | undefined } = {
  ACCESS_LOG: 'It is access.log in the folder that nginx -p names. Link that to /dev/stdout for a stream.',
  ADDRESS_BURST: 'The burst is ten seconds of ADDRESS_RATE: set that.',
  ADDRESS_BYTES: 'The limit is 100 kB for each envelope of ADDRESS_RATE: set that.',
  ADMIN_HOST: 'Write it into ADMIN_PORT, such as tunnel-admin:9091.',
  BODY_TIMEOUT_MS:
    'A body has 60 s to arrive. Put nginx in front for slower senders: it waits for as long as the body goes on.',
  BROWSER_REPORT_TYPES: 'Add those to drop to FILTERS, such as report-deprecation.',
  BROWSER_REPORTS: "Set LAB=on for reports about Culvert's own pages.",
  CHECK_PATH: 'The connection check is at /, and with APP_URL at /console/check.',
  CSP_FILTERS: 'Write into FILTERS what differs from the default, such as -csp-blob or csp-localhost.',
  CULVERT_IMAGES: 'The file released.yml of each release names its images.',
  CULVERT_VERSION: 'Check out the tag of the release: its deploy/released.yml names the version.',
  DAILY_QUOTA: 'Set QUOTA, such as error=50000/day,error=10000/hour.',
  GRAFANA_IMAGE: IMAGES,
  GRAFANA_PORT: 'Publish another port in docker-compose.override.yml.',
  HEADER_BYTES: 'A header line may have 64 KiB. Put the data into the payload of an item.',
  HTTP_PORT_2: 'Publish another port of nginx-2 in docker-compose.override.yml.',
  HOURLY_QUOTA: 'Set QUOTA, such as error=50000/day,error=10000/hour.',
  HTTP2: NEW_NGINX,
  INBOX: 'Set KEEP_HOURS above 0 to keep errors and feedback beside a real DSN.',
  INBOX_FILE: 'The spool has the envelopes of the inbox.',
  INNER_LISTEN: 'Write the address into LISTEN, followed by /inner.',
  INGEST_SUBNET: 'Set EDGE, which is also the subnet.',
  KEEP_BYTES: 'It is a twentieth of SPOOL_BYTES, at least 256 MiB: set that.',
  KEEPALIVE_MIN_TIMEOUT: NEW_NGINX,
  LISTEN_TLS: 'Write the address into LISTEN, followed by /tls.',
  MAX_EVENT_BYTES: LARGER_ITEMS,
  MAX_ITEMS: 'An envelope may have 1,000 items. Split a larger one.',
  MAX_ITEM_BYTES: LARGER_ITEMS,
  NATS_IMAGE: IMAGES,
  NGINX_IMAGE: IMAGES,
  NGINX_TEMP: 'Start nginx with -p and the folder for everything that it writes.',
  NODE_IMAGE: 'Set build.args.NODE_IMAGE of tunnel and web in docker-compose.override.yml.',
  PROJECT_BURST: PROJECT,
  PROJECT_RATE: PROJECT,
  PROMETHEUS_IMAGE: IMAGES,
  QUOTA_MODE: 'Add observe to QUOTA, or leave it out.',
  RESOLVER:
    'nginx looks up host names of TUNNELS and WEB at the name server of the system: write addresses if it must not.',
  SCRUB_ATTACHMENTS: 'Add drop-attachments to SCRUB.',
  SCRUB_MODE: 'Add observe to SCRUB, or leave it out.',
  SCRUB_USERS: 'Add pseudonyms to SCRUB.',
  SENTRY_AUTH_TOKEN: SOURCE_MAPS,
  SENTRY_LOGS: OWN_SIGNALS,
  SENTRY_METRICS: OWN_SIGNALS,
  SENTRY_ORG: SOURCE_MAPS,
  SENTRY_PROJECT: SOURCE_MAPS,
  SENTRY_REPLAYS_SESSION_SAMPLE_RATE: 'Set data-replays-session-sample-rate of the script element of sdk.js.',
  SENTRY_SAMPLE_RATE:
    'Set data-sample-rate of the script element of sdk.js, or bound errors by QUOTA or STORM_LIMIT.',
  SENTRY_TRACEPARENT: "Culvert's own pages send Sentry's trace headers only.",
  SENTRY_URL: SOURCE_MAPS,
  STORM_MODE: 'Add enforce to STORM_LIMIT, such as 100 enforce, or leave it out.',
  TLS_CERTIFICATE: TLS,
  TLS_KEY: TLS,
  TOTAL_HEADER_BYTES: 'All header lines together may have 1 MiB. Put the data into the payloads of items.',
  TUNNEL_ORIGIN_PORT:
    'It is 8081 with deploy/tunnel-origin.yml, and the port after HTTP_PORT as plain processes. Publish another one in docker-compose.override.yml.',
  UPSTREAM_ANSWER_MS: 'It is five times UPSTREAM_LATE_MS, at least 10 s: set that.',
  UPSTREAM_CONNECTIONS: 'Each tunnel opens up to 64 connections to a server. Use fewer replicas for fewer.',
  UPSTREAM_CONNECT_MS: 'The time to connect is half of UPSTREAM_LATE_MS, and at least a second: set that.',
}
