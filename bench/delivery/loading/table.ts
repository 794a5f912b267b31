/** Validates the situations, and renders their table. */

import { Invalid } from '../../report/run.ts'
import { renderTable } from '../../report/table.ts'
import type { Plan } from '../plan.ts'
import { showPercent } from '../table.ts'
import { TITLES } from '../titles.ts'
import type { LoadingResult, LoadingResults, LoadingSample } from './loading.ts'

/** Throws `Invalid` with every problem of the run. */
export function checkLoading({ situations }: LoadingResults, plan: Plan): void {
  const problems = situations.flatMap((result) =>
    result.samples.flatMap((sample) =>
      faultsOf(result, sample, plan).map((fault) => `${result.title}, ${sample.subject}: ${fault}`),
    ),
  )
  if (problems.length > 0) throw new Invalid(problems.join('; '))
}

/** URLs of the SDK and of the report dialog at Sentry, which ad blockers stop. */
const SENTRY_FILES = /^https:\/\/(js|browser)\.sentry-cdn\.com\/|\/api\/embed\/error-page\/$/

function faultsOf({ control, dialogs }: LoadingResult, sample: LoadingSample, plan: Plan): string[] {
  const { subject, raised, arrived, blocked } = sample
  const due = plan.visitors * (dialogs ? plan.dialogs : plan.errors)
  const isUnexplained =
    dialogs && subject !== 'culvert' && arrived < raised && !blocked.some((url) => SENTRY_FILES.test(url))
  return [
    ...(raised !== due ? [`${raised} errors were raised, and not ${due}`] : []),
    ...(control && arrived < raised ? [`${raised - arrived} were lost without a disruption`] : []),
    ...(isUnexplained ? ['there was no dialog, and none was blocked'] : []),
  ]
}

export function drawLoading({ subjects, situations }: LoadingResults): string {
  const shown = situations.filter(({ skipped }) => skipped === undefined)
  const left = situations.filter(({ skipped }) => skipped !== undefined)
  return [
    renderTable([
      [
        'arrived, of the errors raised in the page',
        ...subjects.map((subject) => NAMES[subject] ?? TITLES[subject]),
      ],
      ...shown.map(({ title, samples }) => [title, ...samples.map(showSample)]),
    ]),
    ...left.map(({ title, skipped }) => `Not measured: ${title} (${skipped}).`),
  ].join('\n\n')
}

const NAMES: Partial<typeof TITLES> = {
  tunnelRoute: 'npm and `tunnelRoute`',
  handler: 'npm and `handleTunnelRequest`',
  culvert: "Culvert's `sdk.js`",
}

function showSample({ raised, arrived, duplicates }: LoadingSample): string {
  const share = `${showPercent(arrived / raised)} of ${raised}`
  return duplicates > 0 ? `${share}, ${duplicates} twice` : share
}
