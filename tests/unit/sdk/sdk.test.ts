/** Loader of a project, and the configuration in it. */

import { describe, expect, it } from 'vitest'
import { parseDsn } from '../../../contract/dsn.ts'
import type { LoaderConfig } from '../../../tunnel/sdk/handover.ts'
import { readConfig } from '../../../tunnel/src/config/config.ts'
import { createProjects } from '../../../tunnel/src/pipeline/projects.ts'
import { readSdk, renderLoader } from '../../../tunnel/src/sdk/sdk.ts'
import { makeFolder } from '../../support/temporary-folder.ts'
import { writeSdk } from '../../support/tunnel/sdk.ts'

const DSN = 'https://key@o1.ingest.us.sentry.io/2'

/** Returns the configuration in the loader of the first project. */
async function configOf(env: Record<string, string>): Promise<LoaderConfig> {
  await using folder = await makeFolder()
  await writeSdk(folder.path)
  const { sdk: settings, dsns, tunnelPaths } = readConfig({ SENTRY_DSN: DSN, ...env })
  const [project] = createProjects(dsns).all
  const sdk = readSdk(settings, tunnelPaths[0] ?? '', folder.path)
  if (!sdk || !project) throw new Error('there is no SDK or no project')
  const [, json = ''] =
    /^start\((.*)\)$/.exec(Buffer.from(sdk.loader(project).bodies.identity).toString()) ?? []
  return JSON.parse(json)
}

describe('The loader', () => {
  it('contains the DSN, the query of the tunnel and the defaults of the settings', async () => {
    expect(await configOf({})).toEqual({
      path: '/monitoring',
      query: '?p=2&o=1&r=us',
      bundles: {
        errors: ['errors-0123456789abcdef.js', expect.stringMatching(/^sha384-/)],
        tracing: ['tracing-0123456789abcdef.js', expect.stringMatching(/^sha384-/)],
      },
      options: {
        dsn: DSN,
        environment: 'production',
        replaysOnErrorSampleRate: 0,
      },
      feedback: false,
      privacy: 'errors',
    })
  })

  it('contains what the operator has set', async () => {
    const env = {
      TUNNEL_PATHS: '/other|/monitoring',
      SENTRY_ENVIRONMENT: 'staging',
      SENTRY_RELEASE: 'shop@1.2.3',
      SENTRY_TRACES_SAMPLE_RATE: '0',
      SENTRY_REPLAYS_ON_ERROR_SAMPLE_RATE: '0.2',
      SENTRY_FEEDBACK: 'on',
      PRIVACY_SIGNAL: 'off',
    }
    expect(await configOf(env)).toMatchObject({
      path: '/other',
      options: {
        environment: 'staging',
        release: 'shop@1.2.3',
        tracesSampleRate: 0,
        replaysOnErrorSampleRate: 0.2,
      },
      feedback: true,
      privacy: 'off',
    })
  })

  it('contains the built-in DSN without SENTRY_DSN', async () => {
    expect(await configOf({ SENTRY_DSN: '' })).toMatchObject({
      query: '?p=1',
      options: { dsn: 'https://culvert@inbox.invalid/1' },
    })
  })
})

describe('readSdk', () => {
  it('returns undefined without a build', async () => {
    await using folder = await makeFolder()
    expect(readSdk(readConfig({}).sdk, '/monitoring', folder.path)).toBeUndefined()
  })
})

describe('renderLoader', () => {
  const config = (release: string): LoaderConfig => ({
    path: '/monitoring',
    query: '?p=2',
    bundles: { errors: ['e.js', 'x'], tracing: ['t.js', 'y'] },
    options: {
      dsn: parseDsn(DSN) ? DSN : '',
      environment: 'production',
      release,
      replaysOnErrorSampleRate: 0,
    },
    feedback: false,
    privacy: 'errors',
  })

  it.each([
    ['the end of a script', '</script><script>alert(1)</script>'],
    ['a comment', '<!--'],
    ['quotes and backslashes', `"'\`\\"};alert(1);//`],
    ['line separators', '\u2028\u2029'],
    ['patterns of String.replace', "$& $' $` $1"],
    ['the name of the placeholder', 'CULVERT_CONFIG'],
  ])('keeps a release with %s in its string', (_, release) => {
    const text = renderLoader('const config = CULVERT_CONFIG; return config', config(release))
    expect(text).not.toMatch(/[<>\u2028\u2029]/)
    expect(new Function(text)()).toEqual(config(release))
  })
})
