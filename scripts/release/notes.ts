/** Prints the section of CHANGELOG.md for a tag, as the notes of the release. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { ROOT, UserError } from '../environment.ts'

const WORKSPACES = ['contract', 'tunnel', 'web']

const USAGE = `npm run release-notes -- TAG
Prints the section of CHANGELOG.md for a tag such as v0.1.0. It fails if a package, the chart or an image has another version.`

/** Returns the text of the section for a version, without its heading; `undefined` when there is none. */
export function takeSection(changelog: string, version: string): string | undefined {
  const lines = changelog.split('\n')
  const from = lines.findIndex((line) => line.startsWith(`## [${version}]`))
  if (from < 0) return undefined
  const length = lines
    .slice(from + 1)
    .findIndex((line) => line.startsWith('## ') || /^\[[^\]]+\]: /.test(line))
  return lines
    .slice(from + 1, length < 0 ? undefined : from + 1 + length)
    .join('\n')
    .trim()
}

/** Returns the version of a tag. Throws a `UserError` when one of the files that name a version has another one. */
export function versionOf(tag: string, versions: Readonly<Record<string, string>>): string {
  const [, version] = /^v(\d+\.\d+\.\d+(?:-[\w.]+)?)$/.exec(tag) ?? []
  if (version === undefined)
    throw new UserError(`"${tag}" is not the tag of a release; write one like v0.1.0.`)
  const wrong = Object.entries(versions).filter(([, each]) => each !== version)
  if (wrong.length > 0)
    throw new UserError(
      `the tag is ${tag}, but ${wrong.map(([file, each]) => `${file} has ${each}`).join(', ')}. Change the version there, commit, and tag again.`,
    )
  return version
}

/** Returns the versions that the files of the repository name. */
export function readVersions(): Record<string, string> {
  const read = (file: string) => readFileSync(join(ROOT, file), 'utf8')
  const ofImage = (file: string) => /^ARG .*\bVERSION=(\S+)/m.exec(read(file))?.[1] ?? 'none'
  const chart: { version: string; appVersion: string } = parse(read('deploy/helm/culvert/Chart.yaml'))
  return {
    ...Object.fromEntries(
      ['package.json', 'package-lock.json', ...WORKSPACES.map((name) => `${name}/package.json`)].map(
        (file) => [file, JSON.parse(read(file)).version],
      ),
    ),
    'Chart.yaml (version)': chart.version,
    'Chart.yaml (appVersion)': chart.appVersion,
    'deploy/released.yml': /-tunnel:(.+)$/m.exec(read('deploy/released.yml'))?.[1] ?? 'none',
    'Dockerfile.tunnel': ofImage('Dockerfile.tunnel'),
    'Dockerfile.web': ofImage('Dockerfile.web'),
  }
}

function printNotes(tag: string): void {
  const version = versionOf(tag, readVersions())
  const section = takeSection(readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8'), version)
  if (!section)
    throw new UserError(
      `CHANGELOG.md has no section for ${version}. Rename "[Unreleased]" to "[${version}] - DATE", and add an empty "[Unreleased]" above.`,
    )
  console.log(section)
}

if (import.meta.main) {
  const [tag, ...more] = process.argv.slice(2)
  try {
    if (tag === undefined || tag === '--help' || more.length > 0) console.log(USAGE)
    else printNotes(tag)
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    console.error(`culvert: ${error.message}`)
    process.exitCode = 1
  }
}
