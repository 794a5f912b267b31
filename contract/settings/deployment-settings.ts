/** Settings of Docker Compose. */

import { section, setting } from './declarations.ts'
import * as is from './parsers.ts'

const COMPOSE = 'Ports of the containers'

export const DEPLOYMENT = {
  ...section(COMPOSE, ['compose'], {
    HTTP_HOST: setting(
      is.text,
      '127.0.0.1',
      'Address at which the site is published. `npm start` reads it too.',
    ),
    HTTP_PORT: setting(
      is.integer('port', 1, 65534),
      8080,
      'Port at which the site is published. With `npm start -- --plain`, the next port of 127.0.0.1 accepts envelopes of servers on this machine.',
    ),
    HTTPS_PORT: setting(
      is.integer('port', 1, 65535),
      8443,
      'Port of HTTPS. Used only with `deploy/tls.yml`.',
    ),
  }),
  ...section(COMPOSE, ['compose'], {
    TUNNEL_REPLICAS: setting(
      is.integer('number of containers', 1, 100),
      2,
      'Tunnels that `docker compose up` and `npm run deploy` start.',
    ),
  }),
  ...section(COMPOSE, ['nginx', 'compose'], {
    TLS_FOLDER: setting(
      is.text,
      undefined,
      'Folder that contains `fullchain.pem` and `privkey.pem`. Compose uses it with `deploy/tls.yml`, which mounts it.',
    ),
  }),
}
