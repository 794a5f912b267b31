/** Every envelope's receipt, of all replicas, as it is settled. */

import { openConsole } from '../../../features/console/data-access.ts'
import { readCursor } from '../../../features/console/live-feed/cursor.ts'
import { events, notSignedIn } from '../../../features/console/responses.ts'

/** From where `Last-Event-ID` or `?after=` says; without either, all that replicas still keep. */
export async function GET(request: Request): Promise<Response> {
  const door = await openConsole()
  if (!door) return notSignedIn()
  const after = request.headers.get('last-event-id') ?? new URL(request.url).searchParams.get('after')
  return events(door.receipts(readCursor(after)))
}
