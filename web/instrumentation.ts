/** What the server does once before it answers, and with every error it meets. */

export { captureRequestError as onRequestError } from '@sentry/nextjs'

export async function register(): Promise<void> {
  // Next compiles this for its edge runtime too, where this constant leaves the import out.
  if (process.env.NEXT_RUNTIME !== 'nodejs') return
  const { start } = await import('./lib/start.ts')
  start()
}
