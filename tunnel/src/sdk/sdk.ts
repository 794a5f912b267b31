/** SDK that browsers get from the tunnel: bundles in memory, and a loader for each project. */

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Dsn, envelopeUrl, formatDsn, tunnelUrl } from 'contract/dsn'
import type { LoaderConfig, LoaderOptions, ReachConfig } from '../../sdk/handover.ts'
import {
  CONFIG_NAME,
  LOADER_FILE,
  MANIFEST_FILE,
  REACH_FILE,
  REACH_NAME,
  SDK_FOLDER,
  type SdkManifest,
} from '../../sdk/manifest.ts'
import type { Project } from '../pipeline/projects.ts'
import { type Content, createContent } from './content.ts'

const FOLDER = join(import.meta.dirname, '../..', SDK_FOLDER)

/** Settings of the operator that every loader contains. */
export type SdkSettings = Pick<LoaderConfig, 'feedback' | 'privacy'> & {
  options: Omit<LoaderOptions, 'dsn'>
  /** Share of page loads that test whether they reach Sentry. */
  reachSampleRate: number
}

export class Sdk {
  readonly #settings: SdkSettings
  readonly #path: string
  readonly #template: string
  readonly #manifest: SdkManifest
  readonly #files = new Map<string, Content>()
  readonly #scripts = new Map<string, Content>()
  readonly #reachTemplate: string

  /** `path` is the first tunnel path. Throws when the folder has no complete build. */
  constructor(settings: SdkSettings, path: string, folder: string) {
    this.#settings = settings
    this.#path = path
    this.#manifest = JSON.parse(readFileSync(join(folder, MANIFEST_FILE), 'utf8'))
    this.#template = readFileSync(join(folder, LOADER_FILE), 'utf8')
    this.#reachTemplate = settings.reachSampleRate > 0 ? readFileSync(join(folder, REACH_FILE), 'utf8') : ''
    for (const { file } of Object.values(this.#manifest.bundles)) {
      const read = (end = '') => readFileSync(join(folder, file + end))
      this.#files.set(file, createContent(read(), { gzip: read('.gz'), br: read('.br') }))
    }
  }

  /** Returns the bundles by the names of their files, which contain their hashes: their content never changes. */
  bundles(): ReadonlyMap<string, Content> {
    return this.#files
  }

  /** Returns the loader of a project, followed by its reach test. */
  loader({ key, dsn }: Pick<Project, 'key' | 'dsn'>): Content {
    return this.#script(
      `loader ${key}`,
      () => renderLoader(this.#template, this.#configFor(dsn)) + this.#reachTest(dsn),
    )
  }

  /** Returns the reach test of a project; an empty script where no page load tests. */
  reachTest({ key, dsn }: Pick<Project, 'key' | 'dsn'>): Content {
    return this.#script(`reach ${key}`, () => this.#reachTest(dsn))
  }

  /** Renders and compresses each script once. */
  #script(name: string, render: () => string): Content {
    const content = this.#scripts.get(name) ?? createContent(Buffer.from(render()))
    this.#scripts.set(name, content)
    return content
  }

  #reachTest(dsn: Dsn): string {
    const { reachSampleRate: rate } = this.#settings
    const config: ReachConfig = { rate, url: envelopeUrl(dsn), path: this.#path, query: tunnelUrl('', dsn) }
    return this.#reachTemplate.replace(REACH_NAME, () => toScript(config))
  }

  #configFor(dsn: Dsn): LoaderConfig {
    const { options, feedback, privacy } = this.#settings
    const { errors, tracing } = this.#manifest.bundles
    return {
      path: this.#path,
      query: tunnelUrl('', dsn),
      bundles: { errors: [errors.file, errors.integrity], tracing: [tracing.file, tracing.integrity] },
      options: { dsn: formatDsn(dsn), ...options },
      feedback,
      privacy,
    }
  }
}

/** Reads the built SDK; `undefined` when it has not been built. */
export function readSdk(settings: SdkSettings, path: string, folder = FOLDER): Sdk | undefined {
  return existsSync(join(folder, MANIFEST_FILE)) ? new Sdk(settings, path, folder) : undefined
}

/** Writes a configuration into the template, so that no value ends the script or the string it is in, also in an inline script. */
export function renderLoader(template: string, config: LoaderConfig): string {
  return template.replace(CONFIG_NAME, () => toScript(config))
}

function toScript(value: object): string {
  return JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
