/** Rehearses a release: builds what the workflow `release.yml` publishes into a folder, and names what would stop the release. */

import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { engineProblem } from './docker.ts'
import { ROOT, readEnvironment, runCommand, STATE_FOLDER, UserError } from './environment.ts'
import { docker, extractHelm, findHelm } from './programs.ts'
import { runStep, StepFailed } from './progress.mjs'
import { readVersions, takeSection, versionOf } from './release/notes.ts'

const FOLDER = join(STATE_FOLDER, 'release')
const IMAGES = ['tunnel', 'web']
const ARCHITECTURES = ['amd64', 'arm64']

/** Name of the images in the repository, which the workflow replaces. */
const PLACEHOLDER = 'ghcr.io/OWNER/REPOSITORY'

const USAGE = `npm run release -- --dry-run
Builds the images for ${ARCHITECTURES.join(' and ')}, an SBOM of each, the chart and the notes into ${relative(ROOT, FOLDER)}, and publishes nothing.
It exits with 1, and says why, if anything cannot be built here, or the workflow would refuse the tag.
Only the workflow release.yml publishes a release, for a tag: see CONTRIBUTING.md.`

type Release = {
  version: string
  /** Name of the images without their last part, such as `ghcr.io/owner/repository`. */
  prefix: string
  /** Reasons why the release cannot be made from here. */
  problems: string[]
}

async function rehearse(): Promise<void> {
  rmSync(FOLDER, { recursive: true, force: true })
  mkdirSync(FOLDER, { recursive: true })
  const versions = readVersions()
  const release = { version: versionOf(`v${versions['package.json']}`, versions), ...findRepository() }
  const { version, problems } = release
  if (git('status', '--porcelain') !== '') problems.push('The work tree has changes that are not committed.')
  writeNotes(release)
  writeBills(release)
  await packChart(release)
  await buildImages(release)
  writeChecksums()
  console.log(`\n${relative(process.cwd(), FOLDER)}:`)
  for (const file of readdirSync(FOLDER).sort()) console.log(`  ${file}`)
  console.log(`\nOnce for a repository, as CONTRIBUTING.md says:\n\n${readPreparation()}\n`)
  if (problems.length > 0)
    throw new UserError(`v${version} cannot be released from here:\n- ${problems.join('\n- ')}`)
  console.log(
    `Nothing was published. To release it: git tag --sign v${version} && git push origin v${version}`,
  )
}

/** Returns the name of the images on GitHub's registry. */
function findRepository(): Pick<Release, 'prefix' | 'problems'> {
  const [, name] =
    /github\.com[:/]([\w.-]+\/[\w.-]+?)(\.git)?$/.exec(git('remote', 'get-url', 'origin')) ?? []
  if (name !== undefined) return { prefix: `ghcr.io/${name.toLowerCase()}`, problems: [] }
  const problem = `The remote origin is no repository on GitHub: the chart and released.yml have ${PLACEHOLDER}.`
  return { prefix: PLACEHOLDER, problems: [problem] }
}

function writeNotes({ version, problems }: Release): void {
  const changelog = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8')
  const section = takeSection(changelog, version)
  if (!section)
    problems.push(`CHANGELOG.md has no section for ${version}; notes.md has the one of [Unreleased].`)
  writeFileSync(join(FOLDER, 'notes.md'), `${section || takeSection(changelog, 'Unreleased')}\n`)
}

/**
 * Writes an SBOM of the npm packages of each image. The one of the workflow also has the packages of the base image. `--omit dev` would
 * leave out packages that the root's tools use too; the workspaces have no packages for development.
 */
function writeBills({ version }: Release): void {
  for (const image of IMAGES) {
    const flags = ['--workspace', image, '--package-lock-only', '--sbom-format', 'spdx']
    const bill = execFileSync('npm', ['sbom', ...flags], { cwd: ROOT, maxBuffer: 64 * 1024 * 1024 })
    writeFileSync(join(FOLDER, `culvert-${image}-${version}.npm.sbom.json`), bill)
  }
}

/** Packs the chart, and writes the compose file, with the names of the images. */
async function packChart({ version, prefix, problems }: Release): Promise<void> {
  const compose = readFileSync(join(ROOT, 'deploy/released.yml'), 'utf8')
  writeFileSync(join(FOLDER, 'released.yml'), compose.replaceAll(PLACEHOLDER, prefix))
  const env = readEnvironment()
  await extractHelm(ROOT, env).catch(({ output }: StepFailed) => console.error(output))
  const helm = findHelm(ROOT, env.PATH ?? '')
  if (helm === undefined) return void problems.push(`The chart is not packed: helm is not installed.`)
  const copy = mkdtempSync(join(tmpdir(), 'culvert-chart-'))
  try {
    cpSync(join(ROOT, 'deploy/helm/culvert'), copy, { recursive: true })
    const values = join(copy, 'values.yaml')
    writeFileSync(values, setPrefix(readFileSync(values, 'utf8'), prefix))
    await runStep(`Packing the chart ${version}`, [helm, 'package', copy, '--destination', FOLDER])
  } finally {
    rmSync(copy, { recursive: true })
  }
}

/** Returns the chart's values with the name of the images. */
export function setPrefix(values: string, prefix: string): string {
  const line = /^ {2}prefix: ""$/m
  if (!line.test(values)) throw new UserError('values.yaml of the chart has no line `  prefix: ""`.')
  return values.replace(line, `  prefix: ${prefix}`)
}

/** Builds each image for each architecture that this engine can run, and lists them in `images.txt`. */
async function buildImages({ version, problems }: Release): Promise<void> {
  const problem = engineProblem()
  if (problem !== undefined) return void problems.push(`No image is built: ${problem}.`)
  const platforms = platformsOf(docker('buildx', 'inspect') ?? '')
  const built: string[] = []
  for (const architecture of ARCHITECTURES) {
    if (!platforms.has(`linux/${architecture}`)) {
      problems.push(
        `The images for ${architecture} are not built: this engine cannot run linux/${architecture}. Install emulation for it (on Debian the package qemu-user-static), or rely on the workflow, which builds them on ${architecture}.`,
      )
      continue
    }
    for (const image of IMAGES) {
      const tag = `culvert-${image}:${version}-${architecture}`
      await buildImage(image, architecture, tag).then(
        (id) => built.push(`${tag}@${id}`),
        ({ message, output }: StepFailed) => {
          console.error(output)
          problems.push(message)
        },
      )
    }
  }
  writeFileSync(join(FOLDER, 'images.txt'), built.map((line) => `${line}\n`).join(''))
}

/** Builds an image into the engine. Returns its ID. Rejects with `StepFailed`. */
async function buildImage(image: string, architecture: string, tag: string): Promise<string> {
  const command = ['docker', 'buildx', 'build', '--file', `Dockerfile.${image}`]
  command.push('--platform', `linux/${architecture}`, '--build-arg', `REVISION=${git('rev-parse', 'HEAD')}`)
  await runStep(`Building ${tag}`, [...command, '--tag', tag, '--load', '.'], { cwd: ROOT })
  const inspect = ['image', 'inspect', '--format', '{{.Id}} {{.Architecture}}', tag]
  const [id = '', actual] = execFileSync('docker', inspect, { encoding: 'utf8' }).trim().split(' ')
  if (actual !== architecture) throw new StepFailed(`${tag} is an image for ${actual}.`, '')
  return id
}

/** Returns the platforms that a builder runs, from the output of `docker buildx inspect`. */
export function platformsOf(inspected: string): Set<string> {
  const lists = [...inspected.matchAll(/^Platforms:\s+(.+)$/gm)].map(([, list = '']) => list)
  return new Set(lists.flatMap((list) => list.split(',').map((name) => name.trim().replace(/\*$/, ''))))
}

function writeChecksums(): void {
  const sums = readdirSync(FOLDER)
    .sort()
    .map((file) => {
      const sum = createHash('sha256')
        .update(readFileSync(join(FOLDER, file)))
        .digest('hex')
      return `${sum}  ${file}\n`
    })
  writeFileSync(join(FOLDER, 'SHA256SUMS'), sums.join(''))
}

/** Returns what a maintainer does once, from the documentation. */
function readPreparation(): string {
  const page = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8')
  const [, section] = /^### Prepare the repository once\n([\s\S]*?)^### /m.exec(page) ?? []
  if (section === undefined) throw new Error('CONTRIBUTING.md has no section "Prepare the repository once"')
  return section.trim()
}

/** Returns the output of git; empty when it fails. */
function git(...args: string[]): string {
  return (spawnSync('git', args, { cwd: ROOT, encoding: 'utf8' }).stdout ?? '').trim()
}

if (import.meta.main)
  await runCommand({ name: 'npm run release', usage: USAGE, flags: ['dry-run'] }, async (flags) => {
    if (!flags.has('dry-run')) throw new UserError(`nothing is released from a machine.\n${USAGE}`)
    await rehearse()
  })
