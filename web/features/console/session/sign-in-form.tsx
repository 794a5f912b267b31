/** Form with the operator's password. */

import { MIN_PASSWORD_LENGTH } from '../../../lib/password.ts'
import { Button } from '../../../ui/button.tsx'
import { Card } from '../../../ui/card.tsx'
import { CodeBlock } from '../../../ui/code-block.tsx'

export function SignInForm({ target, problem }: { target: string; problem: string | undefined }) {
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
            aria-describedby={problem ? 'problem' : undefined}
            aria-invalid={problem ? true : undefined}
            className="min-h-11 rounded-part border border-quiet bg-ground px-3 font-normal"
          />
        </label>
        {problem && (
          <p id="problem" role="alert" className="text-bad">
            {problem}
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

/** Shown instead of the form while no password is set. */
export function SignInInstructions() {
  return (
    <Card className="mt-8 grid gap-4">
      <p>
        The console is off: no password is set. Set the same OPERATOR_PASSWORD for web and the tunnels,{' '}
        {MIN_PASSWORD_LENGTH} characters or more, and restart them.
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
