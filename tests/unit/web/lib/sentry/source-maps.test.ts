/** Settings of a build of web that concern source maps. */

import { describe, expect, it } from 'vitest'
import { sourceMapOptions } from '../../../../../web/lib/sentry/source-maps.ts'

const TOKEN = 'sntrys_token-of-the-tests'

describe('The upload of source maps', () => {
  it('is skipped without a token, and the build says so', () => {
    const said: string[] = []
    const options = sourceMapOptions({}, (sentence) => said.push(sentence))
    expect(options).toEqual({ release: { create: false }, sourcemaps: { disable: true } })
    expect(said).toEqual(['No source maps are uploaded: no SENTRY_AUTH_TOKEN is given to the build.'])
  })

  it('fails with a token but no project, and names the missing setting', () => {
    const build = () => sourceMapOptions({ SENTRY_AUTH_TOKEN: TOKEN, SENTRY_ORG: 'shop' }, () => {})
    expect(build).toThrow('SENTRY_AUTH_TOKEN is given to the build; give SENTRY_ORG and SENTRY_PROJECT too.')
  })
})
