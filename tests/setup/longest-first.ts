/** Order of the test files: the longest ones of a project start first, so that no core is idle at the end. */

import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Projects in the order in which their files begin; those of a group overlap. */
const PROJECTS = ['unit', 'process', 'contract', 'browser', 'stack', 'pairs', 'alone']

const LONGEST = [
  'tests/unit/forward/mirrors.test.ts',
  'tests/unit/forward/delivery/slow-upstream.test.ts',
  'tests/unit/envelope/body/bodies.test.ts',
  'tests/unit/forward/upstream/blame.test.ts',
  'tests/unit/forward/upstream/failures.test.ts',
  'tests/unit/forward/delivery/delivery.test.ts',
  'tests/process/doctor/doctor.test.ts',
  'tests/browser/sdk.test.ts',
  'tests/browser/lab.test.ts',
  'tests/process/spool/resend-takeover.test.ts',
  'tests/process/outage/outage.test.ts',
  'tests/contract/jetstream/server.test.ts',
  'tests/browser/console-accessibility.test.ts',
  'tests/process/outage/full-disk.test.ts',
  'tests/browser/console-newcomer.test.ts',
  'tests/browser/console-replay.test.ts',
  'tests/contract/sqlite/guarantees.test.ts',
  'tests/browser/console-spool.test.ts',
  'tests/browser/console.test.ts',
  'tests/stack/journey.test.ts',
  // These two need no images, which the first file builds meanwhile.
  'tests/stack/own-next-app.test.ts',
  'tests/stack/rebuild.test.ts',
  'tests/stack/deploy.test.ts',
  'tests/stack/uploads.test.ts',
  'tests/stack/bugsink.test.ts',
  'tests/stack/start-docker.test.ts',
  'tests/stack/compose.test.ts',
  'tests/stack/nginx-config.test.ts',
  'tests/stack/cluster.test.ts',
  'tests/process/security/tunnel-process.test.ts',
  'tests/process/security/single-attacks.test.ts',
  'tests/process/outage/slow-sentry.test.ts',
]

/**
 * Sorts the files by project, since a worker keeps its modules from one file to the next only within a project. In each project the files of
 * `LONGEST` come first, and all others keep the order of vitest.
 */
export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const index = LONGEST.findIndex((file) => moduleId.endsWith(file))
      return index === -1 ? LONGEST.length : index
    }
    const place = ({ project }: TestSpecification) => PROJECTS.indexOf(project.name)
    return (await super.sort(files)).toSorted((a, b) => place(a) - place(b) || rank(a) - rank(b))
  }
}
