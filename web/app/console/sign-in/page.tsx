/** Sign-in page, or instructions to switch the console on. */

import { redirect } from 'next/navigation'
import { openConsole } from '../../../features/console/data-access.ts'
import { returnPath } from '../../../features/console/routes.ts'
import { config } from '../../../lib/config.ts'
import { SHORTEST_PASSWORD } from '../../../lib/password.ts'
import { Button } from '../../../ui/button.tsx'
import { Card } from '../../../ui/card.tsx'
import { CodeBlock } from '../../../ui/code-block.tsx'
import { Shell } from '../../../ui/page-shell.tsx'

export const metadata = { title: 'Sign in to the console', robots: { index: false } }

type Props = { searchParams: Promise<Record<string, string | string[] | undefined>> }

export default async function SignIn({ searchParams }: Props) {
  const { to, wrong, wait } = await searchParams
  const target = returnPath(typeof to === 'string' ? to : undefined)
  if (await openConsole()) redirect(target)
  return (
    <Shell>
      <div className="mx-auto max-w-md">
        <h1 className="text-hero">Console</h1>
        {config().operatorPassword ? (
          <SignInForm target={target} trouble={troubleOf(wrong, wait)} />
        ) : (
          <HowToSwitchOn />
        )}
      </div>
    </Shell>
  )
}

function troubleOf(wrong: unknown, wait: unknown): string | undefined {
  if (typeof wait === 'string' && /^\d{1,4}$/.test(wait))
    return `Too many wrong passwords from your network. Wait ${wait} s, then try again.`
  return wrong === undefined ? undefined : 'Wrong password.'
}

function SignInForm({ target, trouble }: { target: string; trouble: string | undefined }) {
  return (
    <Card className="mt-8">
      <form method="post" action="/console/session" className="grid gap-4">
        <input type="hidden" name="to" value={target} />
        {/* Password managers keep a password by a name. */}
        <input type="text" name="username" value="operator" autoComplete="username" readOnly hidden />
        <label className="grid gap-2 font-semibold">
          Operator password
          <input
            type="password"
            name="password"
            required
            // biome-ignore lint/a11y/noAutofocus: there is nothing else to do here
            autoFocus
            autoComplete="current-password"
            aria-describedby={trouble ? 'trouble' : undefined}
            aria-invalid={trouble ? true : undefined}
            className="min-h-11 rounded-part border border-quiet bg-ground px-3 font-normal"
          />
        </label>
        {trouble && (
          <p id="trouble" role="alert" className="text-bad">
            {trouble}
          </p>
        )}
        <Button type="submit">Sign in</Button>
      </form>
      <p className="mt-5 text-note text-quiet">
        The password is <code>OPERATOR_PASSWORD</code> of this site. If it is not set, <code>npm start</code>{' '}
        generates one in <code>.culvert/operator-password</code>.
      </p>
    </Card>
  )
}

function HowToSwitchOn() {
  return (
    <Card className="mt-8 grid gap-4">
      <p>
        The console is off: no password is set. Set the same OPERATOR_PASSWORD for web and the tunnels,{' '}
        {SHORTEST_PASSWORD} characters or more, and restart them.
      </p>
      <CodeBlock
        label="Command to set the password"
        text="OPERATOR_PASSWORD='…' docker compose up --detach"
      />
      <p className="text-note text-quiet">
        <code>npm start</code> generates a password. <code>npm run hash-password</code> prints a hash to set
        instead, so that the password itself is not stored.
      </p>
    </Card>
  )
}
