/** Start and error hooks of Next.js. */

export { reportRequestError as onRequestError } from './lib/sentry/request-errors.ts'

export async function register(): Promise<void> {
  // Next.js also compiles this for the edge runtime, which must not contain the import.
  if (process.env.NEXT_RUNTIME !== 'nodejs') return
  const { start } = await import('./startup.ts')
  start()
}
