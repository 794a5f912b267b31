/** Settings that only nginx has: what it listens on, and where it finds tunnels, web and its files. */

import { setting } from './declarations.ts'
import * as is from './parsers.ts'

const NO_ADDRESS = 'is not a port or an address with one; write it like 8080 or [::1]:8080'

export const NGINX = {
  LISTEN: setting(
    is.listOf(isListenAddress, `${NO_ADDRESS}, several separated by spaces or commas`),
    ['8080'],
    'Ports or addresses on which nginx listens.',
  ),
  INNER_LISTEN: setting(
    is.textWhere(isListenAddress, NO_ADDRESS),
    '127.0.0.1:8081',
    "Port or address on which nginx accepts the error reports of web's server, or of your app's server, inside the container network or on this machine. These requests have no client address and no limits, so never publish it to others. It answers 404 on the paths of web and the app.",
  ),
  LISTEN_TLS: setting(
    is.listOf(isListenAddress, `${NO_ADDRESS}, several separated by spaces or commas`),
    [],
    'Ports or addresses on which nginx listens for HTTPS. `deploy/tls.yml` sets it.',
  ),
  TLS_CERTIFICATE: setting(
    is.text,
    undefined,
    'Path of the certificate chain, as nginx sees it (in its container).',
  ),
  TLS_KEY: setting(
    is.text,
    undefined,
    'Path of the key of the certificate, as nginx sees it (in its container).',
  ),
  HTTP2: setting(is.onOff, false, 'HTTP/2 for HTTPS. Needs nginx 1.25.1 or newer.'),
  KEEPALIVE_MIN_TIMEOUT: setting(
    is.textWhere((time) => /^\d+m?s$/.test(time), 'is not a time; write one like 5s or 500ms'),
    undefined,
    'After a reload or a stop, nginx keeps idle connections open for this time, in case a request arrives. Needs nginx 1.27.4 or newer.',
  ),
  TUNNELS: setting(
    is.authorities('tunnel:9090'),
    ['127.0.0.1:9090'],
    'Public ports of the tunnels as `host:port`. With `RESOLVER`, all addresses of a host name are used.',
  ),
  WEB: setting(
    is.authorities('web:3000'),
    ['127.0.0.1:3000'],
    'Ports of web as `host:port`. With `RESOLVER`, all addresses of a host name are used.',
  ),
  RESOLVER: setting(
    is.textWhere(
      (address) => /^(system|[\w.:[\]-]+)$/.test(address),
      'is not the address of a name server; write one like 127.0.0.11, or system',
    ),
    undefined,
    'Name server that nginx asks for new addresses every 2 s. `system` means the first name server that the system uses, usually the first one in `/etc/resolv.conf`. Needs nginx 1.27.3 or newer.',
    { defaultText: 'none: names are looked up at the start of nginx' },
  ),
  NGINX_TEMP: setting(
    is.text,
    '/var/tmp/nginx',
    'Folder on a disk for everything that nginx writes. It has to exist.',
  ),
  ACCESS_LOG: setting(is.text, undefined, 'Access log of nginx.', {
    defaultText: '`access.log` in `NGINX_TEMP`',
  }),
}

function isListenAddress(word: string): boolean {
  return /^((\[[\da-f:.]+\]|[\w.*-]+):)?\d{1,5}$/i.test(word)
}
