/** Renderer of nginx.conf: directives for each setting. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { derivedPaths, INBOX_DSN, parseDsn } from '../../../contract/dsn.ts'
import { REJECTIONS, Rejection, type RejectionCode, rejectionBody } from '../../../contract/rejections.ts'
import {
  listenersFor,
  readNginxConfig,
  readNginxTemplate,
  renderNginx,
  writeNginxConfig,
} from '../../../deploy/nginx/render.ts'
import { makeFolder } from '../../support/temporary-folder.ts'

type Env = Record<string, string>

const TEMPLATE = readNginxTemplate()
const CONFIG = readNginxConfig({}, [])
const TLS = { LISTEN: '127.0.0.1:8443/tls [::1]:8443/tls', TLS_FOLDER: '/tls' }

function problemsOf(env: Env): string[] {
  const problems: string[] = []
  readNginxConfig(env, problems)
  return problems
}

const templateOf = (text: string) => ({ text, unavailablePage: '' })

/** Returns the rendered lines that contain `words`, without indentation and comments. */
function lines(env: Env, words: string): string[] {
  const problems: string[] = []
  const text = renderNginx(TEMPLATE, readNginxConfig(env, problems))
  expect(problems).toEqual([])
  return text
    .split('\n')
    .map((line) => line.replace(/ # .*/, '').trim())
    .filter((line) => line.includes(words))
}

describe('CLIENT_ADDRESS', () => {
  it.each([
    ['forward', 'crit'],
    ['truncate', 'emerg'],
    ['omit', 'emerg'],
  ])('%s leaves messages of level %s in the error log, which have the client address', (mode, level) => {
    expect(lines({ CLIENT_ADDRESS: mode }, 'error_log')).toEqual([`error_log stderr ${level};`])
  })
})

describe('DERIVED_PATHS', () => {
  it('adds the path that SDKs derive from each DSN', () => {
    const dsns =
      'https://public@o1.ingest.us.sentry.io/2,\n http://key@sentry.internal:80/a/b.c/99999999999999'
    const paths = dsns.split(',').flatMap((text) => {
      const dsn = parseDsn(text.trim())
      return dsn ? derivedPaths(dsn) : []
    })
    const base = '(?:/[\\w.~%-]+)*' // of `tunnel: { basePath }`
    const all = ['/monitoring', ...paths.map((path) => `${base}${path}`)].join('|')
    expect(lines({ DERIVED_PATHS: 'on', SENTRY_DSN: dsns }, 'location ~ ^(')).toEqual([
      expect.stringContaining(`location ~ ^(${all})(`),
    ])
    expect(lines({ SENTRY_DSN: dsns }, '7y54ph')).toEqual([])
  })

  it('adds the path of the built-in DSN when SENTRY_DSN is empty', () => {
    const dsn = parseDsn(INBOX_DSN)
    const [location] = lines({ DERIVED_PATHS: 'on' }, 'location ~ ^(')
    expect(location).toContain(`${dsn && derivedPaths(dsn)[0]})`)
  })
})

describe('TUNNELS', () => {
  it('names every tunnel twice, for when each of them has failed', () => {
    expect(lines({ TUNNELS: '127.0.0.1:9090 [::1]:9190' }, 'server ')).toEqual([
      'server 127.0.0.1:9090 fail_timeout=1s;',
      'server [::1]:9190 fail_timeout=1s;',
      'server 127.0.0.1:9090 max_fails=0 backup;',
      'server [::1]:9190 max_fails=0 backup;',
      'server 127.0.0.1:3000 max_fails=0;',
      'server {',
    ])
  })
})

describe('A retry', () => {
  const replicas = (env: Env) => ['set $tunnels ', 'set $webs '].flatMap((words) => lines(env, words))

  it('looks the names of the tunnels and of web up again', () => {
    const env = { TUNNELS: 'tunnel:9090', WEB: 'web:3000' }
    expect(replicas(env)).toEqual(['set $tunnels tunnel:9090;', 'set $webs web:3000;'])
    expect(replicas({})).toEqual(['set $tunnels tunnel;', 'set $webs web;'])
    const several = { TUNNELS: 'a:9090 b:9090', WEB: 'a:3000 b:3000' }
    expect(replicas(several)).toEqual(['set $tunnels tunnel;', 'set $webs web;'])
  })
})

describe('ADDRESS_RATE', () => {
  it('leaves out the limits per client address when it is 0', () => {
    expect(lines({}, 'zone=envelopes')).toHaveLength(2)
    expect(lines({ ADDRESS_RATE: '0' }, 'zone=envelopes')).toEqual([])
  })
})

describe('LISTEN on a machine without IPv6', () => {
  it('has no listeners on [::] that others stand beside', () => {
    const LISTEN = '8080 [::]:8080 8443/tls [::]:8443/tls 8081/inner [::]:8081/inner [::]:80/redirect'
    const config = readNginxConfig({ ...TLS, LISTEN }, [])
    expect(listenersFor(config, false)).toEqual({
      listen: ['8080'],
      innerListen: ['8081'],
      listenTls: ['8443'],
      listenRedirect: ['[::]:80'],
    })
    expect(listenersFor(config, true)).toMatchObject({ listen: ['8080', '[::]:8080'] })
  })
})

describe('LISTEN with /tls', () => {
  it('adds listeners with the certificate', () => {
    expect(lines({ ...TLS, LISTEN: `80 [::]:80 8081/inner ${TLS.LISTEN}` }, 'listen ')).toEqual([
      'listen 80;',
      'listen [::]:80;',
      'listen 8081;',
      'listen 127.0.0.1:8443 ssl;',
      'listen [::1]:8443 ssl;',
    ])
    expect(lines(TLS, 'ssl_certificate')).toEqual([
      'ssl_certificate "/tls/fullchain.pem";',
      'ssl_certificate_key "/tls/privkey.pem";',
    ])
  })

  it('is not required', () => {
    expect(lines({}, 'ssl')).toEqual([])
    expect(lines({}, 'http2')).toEqual([])
  })

  it('is rejected without a certificate', () => {
    expect(problemsOf({ ...TLS, TLS_FOLDER: '' })).toEqual([
      'LISTEN: HTTPS needs a certificate; set TLS_FOLDER, too',
    ])
  })

  it('has HTTP/2 where names say that nginx is new enough', () => {
    expect(lines(TLS, 'http2')).toEqual([])
    expect(lines({ ...TLS, WEB: 'web:3000' }, 'http2')).toEqual(['http2 on;'])
  })

  it('reads a renewed certificate where names say that nginx is new enough', () => {
    const path = 'ssl_certificate "/tls$renewed/fullchain.pem";'
    expect(lines({ ...TLS, WEB: 'web:3000' }, 'ssl_certificate "')).toEqual([path])
    expect(lines({ ...TLS, WEB: 'web:3000' }, 'map "" $renewed')).toHaveLength(1)
  })
})

describe('APP_URL', () => {
  it('is a server that is looked up every 2 s', () => {
    const env = { APP_URL: 'http://shop:3000/', TUNNELS: 'tunnel:9090' }
    expect(lines(env, 'server shop')).toEqual(['server shop:3000 resolve max_fails=0;'])
  })

  it.each([
    [
      'http://127.0.0.1:5173',
      'A dev server such as Vite may listen on [::1] only: then set APP_URL=http://[::1]:5173.',
    ],
    [
      'http://[::1]:5173',
      'A dev server such as Vite may listen on 127.0.0.1 only: then set APP_URL=http://127.0.0.1:5173.',
    ],
    ['http://shop:3000', 'In a container it has to listen on 0.0.0.0, not on 127.0.0.1.'],
  ])('logs that the app at %s does not respond, with a hint', (url, hint) => {
    const sentence = `Your app does not respond at ${url} (APP_URL). Start it there, or correct APP_URL in .env.`
    expect(lines({ APP_URL: url }, 'log_format app_away')[0]).toContain(`"msg":"${sentence} ${hint}"}'`)
  })

  it.each([
    [{ APP_URL: 'https://shop:3000' }, 'APP_URL: "https://shop:3000" is an HTTPS address'],
    [{ APP_URL: 'shop:3000' }, 'APP_URL: "shop:3000" is not the address of an app'],
    [{ APP_URL: 'http://shop:3000/basket' }, 'APP_URL: "http://shop:3000/basket" is not the address'],
    [{ APP_URL: 'http://user:secret@shop' }, 'APP_URL: "http://…@shop" is not the address of an app'],
    [{ APP_URL: 'http://shop:65536' }, 'APP_URL: "http://shop:65536" is not the address of an app'],
  ])('is checked: %j', (wrong, problem) => {
    expect(problemsOf(wrong)).toEqual([expect.stringContaining(problem)])
  })
})

describe('readNginxConfig', () => {
  it.each([
    ['LISTEN', '8080;', 'LISTEN: "8080;" is not a port or an address with one'],
    [
      'LISTEN',
      '8081/inner 8082/inner',
      'LISTEN: "8082/inner" is a second inner listener; write only one port',
    ],
    ['TUNNELS', 'tunnel', 'TUNNELS: "tunnel" is not a host with a port; write one like tunnel:9090'],
    ['WEB', 'web:3000/', 'WEB: "web:3000/" is not a host with a port; write one like web:3000'],
  ])('reports a problem with %s %j', (name, value, problem) => {
    expect(problemsOf({ [name]: value })).toEqual([expect.stringContaining(problem)])
  })
})

describe('readNginxTemplate', () => {
  it('replaces each include line by the file, with the indentation of the line', () => {
    expect(TEMPLATE.text).not.toMatch(/^\s*include /m)
    expect(TEMPLATE.text).toMatch(/^ {6}limit_conn connections 50;/m)
  })

  it('joins the lines of the error page into one', () => {
    expect(TEMPLATE.unavailablePage).toMatch(/^<!doctype html><html lang="en"><meta .*<\/main><\/html>$/)
  })
})

describe('renderNginx', () => {
  it.each(Object.entries(REJECTIONS))('returns the rejection %s with its status', (code, { status }) => {
    const name = code.toUpperCase().replaceAll('-', '_')
    const line = renderNginx(templateOf(`return @${name}@;`), CONFIG)
    const [, given, body = ''] = /^return (\d+) '(.*)';$/.exec(line) ?? []
    expect(given).toBe(String(status))
    const { causes, ...said } = JSON.parse(body.replaceAll("\\'", "'"))
    expect({
      ...JSON.parse(rejectionBody(new Rejection(code as RejectionCode), '$request_id')),
      causes,
    }).toEqual({
      ...said,
      causes,
    })
    expect(body.match(/\$/g)).toEqual(['$']) // of the request ID: nginx would parse another one as a variable
  })

  it('escapes quotes and backslashes of the error page', () => {
    const unavailablePage = `it's \\d`
    expect(renderNginx({ text: 'return 502 @UNAVAILABLE_PAGE@;', unavailablePage }, CONFIG)).toBe(
      `return 502 'it\\'s \\\\d';`,
    )
  })

  it('inserts a value unmodified', () => {
    const resolver = '/logs/a & b\\\\1 $HOME $& $1 `id` * #'
    expect(renderNginx(templateOf('resolver "@RESOLVER@";'), { ...CONFIG, resolver })).toBe(
      `resolver "${resolver}";`,
    )
  })

  it('omits only a block whose first line contains a placeholder without value', () => {
    const text = 'a {\n  b @NGINX_USER@ {\n    c {\n    }\n  }\n  d;\n}'
    const render = (user: string | undefined) => renderNginx(templateOf(text), { ...CONFIG, user })
    expect(render(undefined)).toBe('a {\n  d;\n}')
    expect(render('nginx')).toBe(text.replace('@NGINX_USER@', 'nginx'))
  })

  it('writes a line or block with a condition in its comment only when that holds', () => {
    const text = 'a { # if NGINX_USER\n  b;\n}\nc; # if NGINX_USER: why\nd; # if something else'
    const render = (user: string | undefined) => renderNginx(templateOf(text), { ...CONFIG, user })
    expect(render('nginx')).toBe('a {\n  b;\n}\nc; # why\nd; # if something else')
    expect(render(undefined)).toBe('d; # if something else')
  })

  it('replaces a placeholder that a line has twice, and throws for two different ones', () => {
    const render = (text: string) => renderNginx(templateOf(text), { ...CONFIG, user: 'u' })
    expect(render('a @NGINX_USER@ "@NGINX_USER@"; # if NGINX_USER')).toBe('a u "u";')
    expect(() => render('a @NGINX_USER@ @RESOLVER@;')).toThrow(
      '"a @NGINX_USER@ @RESOLVER@;" has more than one name',
    )
  })

  it('throws for a block without a closing brace at its indentation', () => {
    const text = 'a {\n  b { # if APP\n    c;\n}'
    expect(() => renderNginx(templateOf(text), CONFIG)).toThrow(
      'nginx.conf: "b { # if APP" opens a block without a closing brace',
    )
  })

  it.each(['a\nb @NO_SUCH_NAME@;', 'a; # if NO_SUCH_NAME'])('throws for an unknown name: %j', (text) => {
    expect(() => renderNginx(templateOf(text), CONFIG)).toThrow('NO_SUCH_NAME is no value')
  })
})

describe('writeNginxConfig', () => {
  it('leaves the existing file unchanged when a setting is invalid', async () => {
    await using folder = await makeFolder()
    const file = join(folder.path, 'nginx.conf')
    expect(writeNginxConfig({}, file)).toEqual([])
    const before = readFileSync(file, 'utf8')
    expect(writeNginxConfig({ TUNNEL_PATHS: 'x', ADDRESS_RATE: 'y' }, file)).toHaveLength(2)
    expect(readFileSync(file, 'utf8')).toBe(before)
  })
})
