/** Console integration, in a file of its own for the bundler. */

export { consoleLoggingIntegration } from '@sentry/react'
