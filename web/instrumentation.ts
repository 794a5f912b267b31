/** What the server does once before it answers, and with every error it meets. */

export { reportRequestError as onRequestError } from './lib/sentry/request-errors.ts'

export async function register(): Promise<void> {
  // Next compiles this for its edge runtime too, where this constant leaves the import out.
  if (process.env.NEXT_RUNTIME !== 'nodejs') return
  const { start } = await import('./startup.ts')
  start()
}
