/** Sign-in page, or instructions to switch the console on. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { getConsoleData } from '../../../features/console/data-access/data-access.ts'
import { seeOther } from '../../../features/console/responses.ts'
import { returnPath } from '../../../features/console/routes.ts'
import { renderForm, renderInstructions, renderPage } from '../../../features/console/session/sign-in-page.ts'
import { config } from '../../../lib/config.ts'
import { nonceOf } from '../../../lib/security-headers.ts'
import { themeAttribute } from '../../../lib/theme.ts'
import icon from '../../../ui/icon.svg'

/** Written by the build beside the server, in whose folder the server runs. */
const STYLES = 'styles.css'

let styles: string | undefined

export async function GET(request: Request): Promise<Response> {
  const query = new URL(request.url).searchParams
  const target = returnPath(query.get('to'))
  if (await getConsoleData()) return seeOther(target)
  styles ??= readFileSync(join(/* turbopackIgnore: true */ process.cwd(), STYLES), 'utf8')
  const { checkPath, lab, operatorPassword } = config()
  const html = renderPage({
    nonce: nonceOf(request.headers),
    styles,
    icon: icon.src,
    theme: themeAttribute(request.headers.get('cookie'))['data-theme'],
    checkPath,
    isLabOn: lab,
    content: operatorPassword ? renderForm(target, problemIn(query)) : renderInstructions(),
  })
  return new Response(html, {
    headers: { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'private, no-store' },
  })
}

function problemIn(query: URLSearchParams): string | undefined {
  const wait = query.get('wait')
  if (wait !== null && /^\d{1,4}$/.test(wait))
    return `Too many wrong passwords from your network. Wait ${wait} s, then try again.`
  if (query.has('busy')) return 'Too many sign-ins are being checked. Wait some seconds, then try again.'
  return query.has('wrong') ? 'Wrong password.' : undefined
}
