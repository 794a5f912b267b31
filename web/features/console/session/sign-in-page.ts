/** HTML of the sign-in page. It needs no script, so that it is a fraction of a page of Next.js. */

import { MIN_PASSWORD_LENGTH } from 'contract/password'

export type SignInPage = {
  /** Nonce of the Content-Security-Policy. */
  nonce: string
  styles: string
  /** URL of the icon. */
  icon: string
  theme: string | undefined
  /** Path of the connection check. */
  checkPath: string
  isLabOn: boolean
  /** HTML of the form or the instructions. */
  content: string
}

const MARK = `<svg viewBox="0 0 32 32" class="size-7" aria-hidden="true">
<rect width="32" height="32" rx="8" class="fill-accent"/>
<path d="M5 12h22" class="stroke-on-accent" stroke-width="3" stroke-linecap="round"/>
<circle cx="16" cy="20.5" r="4.5" fill="none" class="stroke-on-accent" stroke-width="3"/>
</svg>`

/** Returns the document: header and footer as on the other public pages. */
export function renderPage({ nonce, styles, icon, theme, checkPath, isLabOn, content }: SignInPage): string {
  const check = escapeHtml(checkPath)
  return `<!doctype html>
<html lang="en"${theme === undefined ? '' : ` data-theme="${escapeHtml(theme)}"`}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>Sign in to the console · Culvert</title>
<link rel="icon" href="${escapeHtml(icon)}" type="image/svg+xml">
<style nonce="${escapeHtml(nonce)}">${styles}</style>
</head>
<body>
<div class="mx-auto flex min-h-dvh max-w-5xl flex-col px-5 wide:px-8">
<header class="flex flex-wrap items-center justify-between gap-x-6 gap-y-2 py-5">
<a href="${check}" class="inline-flex min-h-11 items-center gap-2.5 font-semibold tracking-tight text-ink no-underline">${MARK}Culvert</a>
<nav aria-label="Pages" class="-mx-3 flex gap-1">
<a href="${check}" class="link-page">Connection check</a>
${isLabOn ? `<a href="/lab" class="link-page">Error lab</a>` : ''}
</nav>
</header>
<main class="flex-1 pt-8 pb-16 wide:pt-14">
<div class="mx-auto max-w-md">
<h1 class="text-hero">Sign in to the console</h1>
${content}
</div>
</main>
<footer class="border-t border-line py-6 text-note text-quiet">Error reports from this site are sent through its own address.</footer>
</div>
</body>
</html>
`
}

/** Returns the form, which opens `target` after the sign-in. Password managers keep a password by the name in the hidden field. */
export function renderForm(target: string, problem: string | undefined): string {
  const described = problem === undefined ? '' : ' aria-describedby="problem" aria-invalid="true"'
  const alert =
    problem === undefined ? '' : `<p id="problem" role="alert" class="text-bad">${escapeHtml(problem)}</p>`
  return `<section class="card mt-8">
<form method="post" action="/console/session" class="grid gap-4">
<input type="hidden" name="to" value="${escapeHtml(target)}">
<input type="text" name="username" value="operator" autocomplete="username" readonly hidden>
<label class="grid gap-2 font-semibold">
Operator password
<input type="password" name="password" required autofocus autocomplete="current-password"${described} class="min-h-11 rounded-part border border-quiet bg-ground px-3 font-normal">
</label>
${alert}
<button type="submit" class="button button-primary">Sign in</button>
</form>
<p class="mt-5 text-note text-quiet">The password is <code>OPERATOR_PASSWORD</code> of this site. If it is not set, <code>npm start</code> generates one in <code>.culvert/operator-password</code>.</p>
</section>`
}

/** Returns the content that replaces the form while no password is set. */
export function renderInstructions(): string {
  return `<section class="card mt-8 grid gap-4">
<p>The console is off: no password is set. Set OPERATOR_PASSWORD, ${MIN_PASSWORD_LENGTH} characters or more, the same for web and the tunnels. A restart alone does not read it.</p>
<figure aria-label="Command to set the password"><pre class="w-full rounded-part bg-sunken p-4 font-mono text-note whitespace-pre-wrap">echo 'OPERATOR_PASSWORD=…' &gt;&gt; .env &amp;&amp; npm run deploy</pre></figure>
<p class="text-note text-quiet"><code>npm start</code> generates a password. <code>npm run hash-password</code> prints a hash to set instead, so that the password itself is not stored.</p>
</section>`
}

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? character)
}
