/** Settings of Docker Compose. */

import { section, setting } from './declarations.ts'
import * as is from './parsers.ts'

const port = is.integer('port', 1, 65535)

const COMPOSE = 'Ports and images of the containers'

export const DEPLOYMENT = {
  ...section(COMPOSE, ['compose'], {
    HTTP_HOST: setting(
      is.text,
      '127.0.0.1',
      'Address at which the site is published. `npm start` reads it too.',
    ),
    HTTP_PORT: setting(port, 8080, 'Port at which the site is published. `npm start` reads it too.'),
    TUNNEL_ORIGIN_PORT: setting(
      port,
      8081,
      "Port on 127.0.0.1 that accepts envelopes of servers on this machine: with the default, your app's server sets `TUNNEL_ORIGIN=http://127.0.0.1:8081`. Used only with `deploy/tunnel-origin.yml` and by `npm start -- --plain`.",
    ),
    HTTPS_PORT: setting(port, 8443, 'Port of HTTPS. Used only with `deploy/tls.yml`.'),
    CULVERT_IMAGES: setting(
      is.text,
      undefined,
      'Prefix of the names of released images, such as `ghcr.io/OWNER/culvert`; `-tunnel` and `-web` follow. Used only with `deploy/released.yml`.',
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
