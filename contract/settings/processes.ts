/** Settings that the images, Compose and `npm start` set for each process, and that tests need. */

import { section, setting } from './declarations.ts'
import { NGINX } from './nginx-settings.ts'
import * as is from './parsers.ts'

export const LOOPBACK = ['127.0.0.0/8', '::1']
const listeningPort = is.integer('port', 0, 65535)

export const PROCESSES = 'Only for tests and containers'

export const PROCESS = {
  ...section(PROCESSES, ['tunnel'], {
    HOST: setting(is.text, '127.0.0.1', 'Address on which the tunnel listens. Web reads `HOSTNAME`.'),
  }),
  ...section(PROCESSES, ['tunnel', 'web'], {
    PORT: setting(listeningPort, 9090, 'Port on which the process listens; 0 for any that is free.', {
      defaultText: '9090; web: 3000',
    }),
  }),
  ...section(PROCESSES, ['tunnel'], {
    ADMIN_PORT: setting(
      is.adminPort,
      { host: undefined, port: 9091 },
      'Admin port of the tunnel; 0 for any that is free. `tunnel-admin:9091` listens on the address of this machine that the host name resolves to, instead of `HOST`.',
    ),
    EDGE: setting(
      is.networks,
      LOOPBACK,
      'Networks from which nginx connects to the tunnel, which trusts `X-Forwarded-For` only from these. In Compose it is the subnet of the network `ingest`, `10.203.113.0/24`; set another one for a second stack on one engine. For a [tunnel without nginx](proxies.md), use `TRUSTED_PROXIES`.',
      { defaultText: '127.0.0.0/8, ::1 and `TRUSTED_PROXIES`' },
    ),
    SPOOL_CREDENTIALS: setting(
      is.text,
      undefined,
      '`user:password` for the NATS server, where `SPOOL_URL` has none.',
      { secret: true, hasFile: true, isFileOptional: true },
    ),
  }),
  ...section(PROCESSES, ['web'], {
    TUNNEL_ADMIN: setting(
      is.authorities('tunnel-admin:9091'),
      [],
      'Admin ports of the tunnels as `host:port`. If a host name has several addresses, all of them are used.',
      { defaultText: 'none: no receipts for visitors, an empty console' },
    ),
    TUNNEL_ORIGIN: setting(
      is.textWhere(
        (origin) => URL.canParse(origin) && /^https?:\/\/[^/?#@]+$/.test(origin),
        'is not an origin; write that of the inner listener of nginx, like http://nginx:8081',
      ),
      undefined,
      "Origin to which web's server posts its error reports: the inner listener of nginx, see `LISTEN`.",
      { defaultText: 'none: the server reports nothing' },
    ),
  }),
  ...section(PROCESSES, ['nginx'], NGINX),
}
