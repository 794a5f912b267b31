/** Performs a confirmed action on spool entries. */

import { getConsoleData } from '../../../../features/console/data-access/data-access.ts'
import type { SpoolAction } from '../../../../features/console/data-access/spool.ts'
import { notSignedIn, notThisSite, problem, seeOther } from '../../../../features/console/responses.ts'
import { withQuery } from '../../../../features/console/routes.ts'
import { isSameSite } from '../../../../features/console/session/session.ts'
import { SPOOL_ACTIONS } from '../../../../features/console/spool/spool-action.tsx'
import {
  readSpoolQuery,
  resendRequest,
  SPOOL,
  type SpoolQuery,
  selectionOf,
} from '../../../../features/console/spool/spool-query.ts'

export async function POST(request: Request): Promise<Response> {
  const data = await getConsoleData()
  if (!data) return notSignedIn()
  if (!isSameSite(request)) return notThisSite()
  const form = await request.formData().catch(() => new FormData())
  const fields = readSpoolQuery(
    Object.fromEntries(
      [...form].flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
    ),
  )
  const action = readAction(form, fields)
  if (!action) return problem(400, 'The action or the spool is missing or unknown.')
  const result = await data.spool.act(action)
  const list = fields.state === undefined ? {} : selectionOf(fields) // other actions lead to all pending entries
  const counts = 'count' in result ? { count: `${result.count}`, left: `${result.left}` } : {}
  return seeOther(withQuery(SPOOL, { ...list, did: result.did, ...counts }))
}

function readAction(form: FormData, fields: SpoolQuery): SpoolAction | undefined {
  const textOf = (name: string) => {
    const value = form.get(name)
    return typeof value === 'string' && value !== '' ? value : undefined
  }
  const action = SPOOL_ACTIONS.find((name) => name === textOf('action'))
  const [spool, id] = ['spool', 'id'].map(textOf)
  const { project, category } = fields
  const resend = id === undefined ? resendRequest(fields) : { id }
  if (!action || !spool || (action === 'resend' && !resend)) return undefined
  return {
    ...{ action, spool, all: textOf('all') !== undefined },
    ...(id && { id }),
    ...(project && { project }),
    ...(category && { category }),
    ...(resend && { resend }),
  }
}
