/** Settings that only nginx has: what it listens on, and where it finds tunnels, web and its files. */

import { setting } from './declarations.ts'
import * as is from './parsers.ts'

export const NGINX = {
  LISTEN: setting(
    is.listOf(
      isListenAddress,
      'is not a port or an address with one; write it like 8080 or [::1]:8080, several separated by spaces or commas',
    ),
    ['8080'],
    "Ports or addresses on which nginx listens. `8443/tls` is for HTTPS, with `TLS_FOLDER`, and `8080/redirect` sends visitors there. `127.0.0.1:8081/inner`, which is the default, accepts the error reports of web's or your app's server, without client address and limits: never publish it.",
  ),
  TUNNELS: setting(
    is.authorities('tunnel:9090'),
    ['127.0.0.1:9090'],
    'Public ports of the tunnels as `host:port`. nginx resolves host names every 2 s, and uses all addresses. That needs nginx 1.27.4 or newer, which then also speaks HTTP/2 over TLS.',
  ),
  WEB: setting(
    is.authorities('web:3000'),
    ['127.0.0.1:3000'],
    'Ports of web as `host:port`, like `TUNNELS`.',
  ),
}

function isListenAddress(word: string): boolean {
  return /^((\[[\da-f:.]+\]|[\w.*-]+):)?\d{1,5}(\/tls|\/inner|\/redirect)?$/i.test(word)
}
