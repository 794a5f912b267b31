/** The recorder of the browser's SDK, in a file of its own for the bundler. */

export { replayIntegration } from '@sentry/nextjs'
