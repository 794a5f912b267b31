/** Server action that fails on purpose. */
'use server'

import { captureException } from '@sentry/nextjs'
import { headers } from 'next/headers'
import { type Asked, labError, rejectionOf } from './access.ts'

/** Returns the reason when no error was triggered. */
export async function fail(asked: Asked): Promise<{ rejection: string }> {
  const { pass, reference } = readAsked(asked)
  const rejection = rejectionOf({ pass, reference }, await headers())
  if (rejection) return { rejection }
  const error = labError('in a server action', reference)
  captureException(error, { mechanism: { handled: false, type: 'auto.function.nextjs.server_action' } })
  throw error
}

/** Checks the types: anyone can call an action with anything. */
function readAsked(asked: unknown): { pass: string; reference: string } {
  const { pass, reference } = Object(asked)
  return {
    pass: typeof pass === 'string' ? pass : '',
    reference: typeof reference === 'string' ? reference : '',
  }
}
