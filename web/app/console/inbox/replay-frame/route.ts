/** Document of the frame that plays replays. `proxy.ts` sets its policy; it contains no data. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { getConsoleData } from '../../../../features/console/data-access/data-access.ts'
import { notSignedIn } from '../../../../features/console/responses.ts'
import { nonceOf } from '../../../../lib/security-headers.ts'

/** Written by the build beside the server, in whose folder the server runs. */
const SCRIPT = 'replay-frame.js'

let script: string | undefined

export async function GET(request: Request): Promise<Response> {
  if (!(await getConsoleData())) return notSignedIn()
  script ??= readFileSync(join(/* turbopackIgnore: true */ process.cwd(), SCRIPT), 'utf8')
  const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Replay</title>
<body>
<script nonce="${nonceOf(request.headers)}">${script.replaceAll('</script', '<\\/script')}</script>`
  return new Response(html, {
    headers: { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'private, no-store' },
  })
}
