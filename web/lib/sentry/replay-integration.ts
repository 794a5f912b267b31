/** Replay integration, in a file of its own for the bundler. */

export { replayIntegration } from '@sentry/nextjs'
