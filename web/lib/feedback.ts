/** The feedback form of the browser's SDK, in a file of its own for the bundler. */

export { feedbackIntegration } from '@sentry/nextjs'
