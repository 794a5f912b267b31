/** Every envelope's receipt, of all replicas, as it is settled. */

import { events, notSignedIn } from '../../../lib/console/answers.ts'
import { openConsole } from '../../../lib/console/console.ts'
import { readCursor } from '../../../lib/console/cursor.ts'

/** From where `Last-Event-ID` or `?after=` says; without either, all that replicas still keep. */
export async function GET(request: Request): Promise<Response> {
  const door = await openConsole()
  if (!door) return notSignedIn()
  const after = request.headers.get('last-event-id') ?? new URL(request.url).searchParams.get('after')
  return events(door.receipts(readCursor(after)))
}
