/** Documentation: list of its pages. */

import { ConsoleShell } from '../../../features/console/console-shell.tsx'
import { requireConsoleData } from '../../../features/console/data-access/data-access.ts'
import { readDocs } from '../../../features/console/docs/docs.ts'
import { Document } from '../../../features/console/docs/document.tsx'
import { DOCS } from '../../../features/console/routes.ts'

export const metadata = { title: 'Documentation · Console' }

export default async function DocsIndex() {
  await requireConsoleData(DOCS)
  return (
    <ConsoleShell at="docs" title="Documentation">
      <Document page={readDocs().index} />
    </ConsoleShell>
  )
}
