/** Performs a confirmed action on spool entries. */

import { openConsole, type SpoolDone, type SpoolOrder } from '../../../../features/console/data-access.ts'
import { notSignedIn, seeOther } from '../../../../features/console/responses.ts'
import { isOurs } from '../../../../features/console/session/same-site.ts'

const ACTS = ['retry', 'pause', 'resume', 'purge'] as const

export async function POST(request: Request): Promise<Response> {
  const door = await openConsole()
  if (!door) return notSignedIn()
  if (!isOurs(request))
    return Response.json({ detail: 'Send this request from a page of this site.' }, { status: 403 })
  const order = readOrder(await request.formData().catch(() => new FormData()))
  if (!order)
    return Response.json({ detail: 'The action or the spool is missing or unknown.' }, { status: 400 })
  return seeOther(pageAfter(await door.actOnSpool(order)))
}

function pageAfter(done: SpoolDone): string {
  const told = 'many' in done ? { many: `${done.many}`, left: `${done.left}` } : {}
  return `/console/spool?${new URLSearchParams({ did: done.did, ...told })}`
}

function readOrder(form: FormData): SpoolOrder | undefined {
  const said = (name: string) => {
    const value = form.get(name)
    return typeof value === 'string' && value !== '' ? value : undefined
  }
  const act = ACTS.find((each) => each === said('act'))
  const [spool, id, project, category] = ['spool', 'id', 'project', 'category'].map(said)
  if (!act || !spool) return undefined
  return {
    ...{ act, spool, all: said('all') !== undefined },
    ...(id && { id }),
    ...(project && { project }),
    ...(category && { category }),
  }
}
