/** Counts what became of every test, and says why those that did not run did not. */

import type { Reporter, SerializedError, TestCase, TestModule, TestSuite } from 'vitest/node'
import '../tests/support/requirements.ts' // names the reason among the metadata of a test

export type Tally = {
  passed: number
  /** Tests, and with them files and hooks, which fail without a test of theirs. */
  failed: number
  /** Why each skipped test did not run, by its name. */
  skips: Map<string, string>
}

/** A reporter for vitest that hands over its tally when the run is over. */
export function createTally(finish: (tally: Tally) => void): Reporter {
  return {
    onTestRunEnd: (modules, unhandledErrors) => finish(count(modules, unhandledErrors)),
  }
}

function count(modules: ReadonlyArray<TestModule>, unhandledErrors: ReadonlyArray<SerializedError>): Tally {
  const tests = modules.flatMap((module) => [...module.children.allTests()])
  const groups = modules.flatMap((module) => [module, ...module.children.allSuites()])
  const inState = (state: string) => tests.filter((test) => test.result().state === state)
  const broken = groups.filter((group) => group.errors().length > 0)
  const skips = inState('skipped').map((test): [string, string] => [nameOf(test), reasonOf(test)])
  return {
    passed: inState('passed').length,
    failed: inState('failed').length + broken.length + unhandledErrors.length,
    skips: new Map(skips),
  }
}

function nameOf(test: TestCase): string {
  return `${test.module.relativeModuleId} > ${test.fullName}`
}

function reasonOf(test: TestCase): string {
  const result = test.result()
  const note = result.state === 'skipped' ? result.note : undefined
  return note ?? test.meta().skipReason ?? reasonOfGroup(test.parent) ?? 'no reason given'
}

/** The nearest reason that a suite around it has. */
function reasonOfGroup(group: TestSuite | TestModule): string | undefined {
  if (group.errors().length > 0) return 'what comes before it failed'
  return group.meta().skipReason ?? (group.type === 'module' ? undefined : reasonOfGroup(group.parent))
}
