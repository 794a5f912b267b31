/** Streams the receipts of all replicas as server-sent events. */

import { getConsoleData } from '../../../features/console/data-access/data-access.ts'
import { readCursor } from '../../../features/console/live-feed/cursor.ts'
import { events, notSignedIn } from '../../../features/console/responses.ts'

/** Starts after `Last-Event-ID` or `?after=`; without either, with the most recent receipts. */
export async function GET(request: Request): Promise<Response> {
  const data = await getConsoleData()
  if (!data) return notSignedIn()
  const after = request.headers.get('last-event-id') ?? new URL(request.url).searchParams.get('after')
  return events(data.receipts(readCursor(after)))
}
