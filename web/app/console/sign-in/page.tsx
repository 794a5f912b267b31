/** Sign-in page, or instructions to switch the console on. */

import { redirect } from 'next/navigation'
import { getConsoleData } from '../../../features/console/data-access/data-access.ts'
import { type Query, returnPath } from '../../../features/console/routes.ts'
import { SignInForm, SignInInstructions } from '../../../features/console/session/sign-in-form.tsx'
import { config } from '../../../lib/config.ts'
import { Shell } from '../../../ui/page-shell.tsx'

export const metadata = { title: 'Sign in to the console', robots: { index: false } }

type Props = { searchParams: Promise<Query> }

export default async function SignInPage({ searchParams }: Props) {
  const { to, wrong, wait } = await searchParams
  const target = returnPath(typeof to === 'string' ? to : undefined)
  if (await getConsoleData()) redirect(target)
  return (
    <Shell>
      <div className="mx-auto max-w-md">
        <h1 className="text-hero">Sign in to the console</h1>
        {config().operatorPassword ? (
          <SignInForm target={target} problem={describeProblem(wrong, wait)} />
        ) : (
          <SignInInstructions />
        )}
      </div>
    </Shell>
  )
}

function describeProblem(wrong: Query[string], wait: Query[string]): string | undefined {
  if (typeof wait === 'string' && /^\d{1,4}$/.test(wait))
    return `Too many wrong passwords from your network. Wait ${wait} s, then try again.`
  return wrong === undefined ? undefined : 'Wrong password.'
}
