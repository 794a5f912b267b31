/** Titles of the columns. */

import type { SubjectName } from './subjects/subjects.ts'

export const TITLES: Record<SubjectName, string> = {
  direct: 'straight to Sentry',
  loaderScript: "Sentry's Loader Script",
  tunnelRoute: '`tunnelRoute`',
  handler: '`handleTunnelRequest` on Hono',
  culvert: 'Culvert',
}
