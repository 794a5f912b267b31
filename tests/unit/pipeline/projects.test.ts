/** Table of projects: resolves DSNs and queries to upstream URLs. */

import { describe, expect, it } from 'vitest'
import { parseDsn } from '../../../contract/dsn.ts'
import { createProjects, type PostedQuery, type Projects } from '../../../tunnel/src/pipeline/projects.ts'
import { attempt, codeOf } from '../../support/rejection.ts'

const CLOUD = 'https://key@o1.ingest.us.sentry.io/2'
const OTHER_ORG = 'https://key@o5.ingest.us.sentry.io/2'
const OLD_CLOUD = 'https://key@o1.ingest.sentry.io/3'
const OWN = 'http://key:secret@sentry.example:9000/a/b/7'
const OTHER_KEY = 'http://rotated@sentry.example:9000/a/b/7'

const projects = tableOf(CLOUD, OTHER_ORG, OLD_CLOUD, OWN, OTHER_KEY)

describe('A DSN in an envelope', () => {
  it.each([
    ['as SDKs write it', CLOUD, '/api/2/envelope/?sentry_key=key&sentry_version=7&hsts=0'],
    [
      'with a secret',
      'https://key:secret@o1.ingest.us.sentry.io/2',
      '/api/2/envelope/?sentry_key=key&sentry_version=7&hsts=0',
    ],
    [
      'with its port',
      'https://key@o1.ingest.us.sentry.io:443/2',
      '/api/2/envelope/?sentry_key=key&sentry_version=7&hsts=0',
    ],
    [
      'in capitals',
      'HTTPS://key@O1.Ingest.US.sentry.io/2',
      '/api/2/envelope/?sentry_key=key&sentry_version=7&hsts=0',
    ],
    [
      'of a self-hosted Sentry under a path',
      'http://key@sentry.example:9000/a/b/7',
      '/a/b/api/7/envelope/?sentry_key=key&sentry_version=7',
    ],
    [
      'with a second key of the project',
      OTHER_KEY,
      '/a/b/api/7/envelope/?sentry_key=rotated&sentry_version=7',
    ],
  ])('%s is resolved to its endpoint', (_, dsn, endpoint) => {
    expect(projects.resolve(dsn, {}).endpoint).toBe(endpoint)
  })

  it('is sent with the scheme of the configured DSN', () => {
    expect(projects.resolve('http://key@o1.ingest.us.sentry.io/2', {}).origin).toBe(
      'https://o1.ingest.us.sentry.io',
    )
  })

  it.each([
    ['another host', 'https://key@o1.ingest.de.sentry.io/2'],
    ['a host that begins like a configured one', 'https://key@o1.ingest.us.sentry.io.evil.example/2'],
    ['a host that ends like a configured one', 'https://key@evil-o1.ingest.us.sentry.io/2'],
    ['another project', 'https://key@o1.ingest.us.sentry.io/4'],
    ['another key', 'https://other@o1.ingest.us.sentry.io/2'],
    ['the key in capitals', 'https://KEY@o1.ingest.us.sentry.io/2'],
    ['another port', 'https://key@o1.ingest.us.sentry.io:8443/2'],
    ['no port when the configured DSN has one', 'http://key@sentry.example/a/b/7'],
    ['another path', 'http://key@sentry.example:9000/a/7'],
    ['no path when the configured DSN has one', 'http://key@sentry.example:9000/7'],
    ['a path when the configured DSN has none', 'https://key@o1.ingest.us.sentry.io/a/2'],
    ['a trailing dot', 'https://key@o1.ingest.us.sentry.io./2'],
    ['an internal address', 'http://key@169.254.169.254/2'],
  ])('with %s is rejected with dsn-unknown', (_, dsn) => {
    expect(codeOf(() => projects.resolve(dsn, {}))).toBe('dsn-unknown')
  })

  it.each([
    '',
    'hello',
    `${CLOUD}?x=y/z`,
    `${CLOUD}/`,
    ` ${CLOUD}`,
    'https://key@o1.ingest.us.sentry.io@evil.example/2',
  ])('"%s" is rejected with dsn-invalid', (dsn) => {
    expect(codeOf(() => projects.resolve(dsn, {}))).toBe('dsn-invalid')
  })
})

describe('The query beside a DSN', () => {
  it.each<[PostedQuery, string]>([
    [{ p: '2' }, CLOUD],
    [{ p: '2', o: '1', r: 'us' }, CLOUD],
    [{ o: '1' }, CLOUD],
    [{ r: 'us' }, CLOUD],
    [{ p: '3', o: '1' }, OLD_CLOUD],
    [{ p: '7' }, OTHER_KEY],
  ])('%j matches %s', (query, dsn) => {
    expect(projects.resolve(dsn, query).dsn.projectId).toBe(parseDsn(dsn)?.projectId)
  })

  it.each<[PostedQuery, string, string]>([
    [{ p: '3' }, CLOUD, 'p'],
    [{ p: '2', o: '5' }, CLOUD, 'o'],
    [{ p: '2', o: '1', r: 'de' }, CLOUD, 'r'],
    [{ p: '3', o: '1', r: 'us' }, OLD_CLOUD, 'r'],
    [{ p: '7', o: '1' }, OWN, 'o'],
    [{ p: '7', r: 'us' }, OWN, 'r'],
  ])('%j does not match %s, because of %s', (query, dsn, name) => {
    expect(attempt(() => projects.resolve(dsn, query))).toMatchObject({
      code: 'query-mismatch',
      causes: [`The value of ${name} in the query differs from the DSN.`],
    })
  })
})

describe('An envelope without a DSN', () => {
  it.each<[PostedQuery, string]>([
    [{ p: '3' }, 'o1.ingest.sentry.io/3'],
    [{ p: '2', o: '5' }, 'o5.ingest.us.sentry.io/2'],
    [{ p: '2', o: '1', r: 'us' }, 'o1.ingest.us.sentry.io/2'],
  ])('is resolved to the only project that matches %j', (query, name) => {
    expect(projects.resolve(undefined, query).name).toBe(name)
    expect(projects.resolve(null, query).name).toBe(name)
  })

  it.each<[string, PostedQuery]>([
    ['no query', {}],
    ['a query without a project', { o: '5' }],
    ['a query that two projects match', { p: '2' }],
    ['a query that two keys of one project match', { p: '7' }],
    ['a query that no project matches', { p: '9' }],
    ['a query that matches in part', { p: '3', r: 'us' }],
  ])('and with %s is rejected with dsn-missing', (_, query) => {
    expect(codeOf(() => projects.resolve(undefined, query))).toBe('dsn-missing')
  })
})

describe('The table of projects', () => {
  it('lists a DSN that is configured twice once, so that a query still resolves to it', () => {
    const table = tableOf(OWN, 'http://key@sentry.example:9000/a/b/7')
    expect(table.all).toHaveLength(1)
    expect(table.resolve(undefined, { p: '7' }).name).toBe('sentry.example:9000/7')
  })
})

function tableOf(...texts: string[]): Projects {
  return createProjects(texts.flatMap((text) => parseDsn(text) ?? []))
}
